#!/bin/sh
# SPDX-License-Identifier: MIT
# measure.sh FOLDER [quick]: runs the walk experiments and writes FOLDER/walk.csv, sweep.csv and machine.txt, and by
# measure-first.sh first.csv.
#
# Each experiment is run in several processes, each with stacks of its own seed, and the whole series is gone through once
# for each: so a slow spell of the machine falls on all alike. Walkers of one speed are measured together ("pass"), since
# a slow one takes the processor's caches from the next; of one library only one at a time, since it would find in its own
# cache what the other has just left there.
set -eu
results=$1
mode=${2-}
bin=build/benchmarks/walk
processes=5
rounds=200
if [ "$mode" = quick ]; then
    processes=1
    rounds=40
fi

if ! grep -q walk-benchmarks build/build.ninja; then
    echo "walk: libunwind, abseil or libbacktrace (of GCC) is missing; nothing to compare with" >&2
    exit 2
fi
if ! ninja -C build walk-benchmarks >build/benchmarks.log 2>&1; then
    cat build/benchmarks.log >&2
    exit 2
fi

fast='frame pointers,sp_backtrace,abseil'
frames='frame pointers,sp_walk'
unwind='sp_backtrace,unw_backtrace'
slow='unw_step,glibc,_Unwind,libbacktrace'

# experiment FILE BUILD PASS OPTIONS...: appends its rows, with the pass and the process's number in front.
experiment() {
    file=$1 build=$2 pass=$3
    shift 3
    case $pass in
    fast) walkers=$fast some=$rounds ;;
    frames) walkers=$frames some=$rounds ;;
    unwind) walkers=$unwind some=$rounds ;;
    slow) walkers=$slow some=$((rounds / 10)) ;;
    esac
    "$bin/walk-$build" --walkers "$walkers" --rounds "$some" --seed "$process" "$@" >"$results/rows"
    if [ ! -s "$file" ]; then
        sed -n '1s/^/pass,process,/p' "$results/rows" >"$file"
    fi
    sed "1d;s/^/$pass,$process,/" "$results/rows" >>"$file"
}

rm -f "$results/walk.csv" "$results/sweep.csv"
"$bin/walk-both" --machine >"$results/machine.txt"
for process in $(seq "$processes"); do
    for depth in 10 40 100; do
        for state in repeated changing never; do
            for start in '' --context; do
                # shellcheck disable=SC2086 # one word or none
                set -- --depth "$depth" --state "$state" $start
                for pass in fast frames unwind slow; do
                    experiment "$results/walk.csv" both "$pass" "$@"
                done
                for pass in unwind slow; do
                    experiment "$results/walk.csv" plain "$pass" "$@"
                    experiment "$results/walk.csv" words "$pass" "$@" --half
                done
                experiment "$results/walk.csv" words unwind "$@"
            done
        done
    done
    for depth in 10 20 40 70 100 150 200 300; do
        for pass in fast frames unwind slow; do
            experiment "$results/sweep.csv" both "$pass" --depth "$depth"
        done
        experiment "$results/sweep.csv" plain unwind --depth "$depth"
        experiment "$results/sweep.csv" words unwind --depth "$depth" --half
    done
done

rm -f "$results/rows"
exec sh benchmarks/walk/measure-first.sh "$results" "$mode"
