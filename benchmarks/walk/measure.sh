#!/bin/sh
# SPDX-License-Identifier: MIT
# measure.sh FOLDER [quick]: runs the walk experiments and writes FOLDER/walk.csv, sweep.csv and first.csv.
#
# Each experiment is run in several processes, each with stacks of its own seed, and the whole series is gone through once
# for each: so a slow spell of the machine falls on all alike. Walkers of one speed are measured together ("pass"), since
# a slow one takes the processor's caches from the next; of one library only one at a time, since it would find in its own
# cache what the other has just left there.
set -eu
results=$1
bin=build/benchmarks/walk
processes=5
rounds=200
first_processes=41
if [ "${2-}" = quick ]; then
    processes=1
    rounds=40
    first_processes=5
fi

if ! grep -q walk-benchmarks build/build.ninja; then
    echo "walk: libunwind or abseil is missing; nothing to compare" >&2
    exit 2
fi
if ! ninja -C build walk-benchmarks >build/benchmarks.log 2>&1; then
    cat build/benchmarks.log >&2
    exit 2
fi

fast='frame pointers,sp_backtrace,abseil'
frames='frame pointers,sp_walk'
unwind='sp_backtrace,unw_backtrace'
slow='unw_step,glibc,_Unwind'

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

rm -f "$results/walk.csv" "$results/sweep.csv" "$results/first.csv"
for process in $(seq "$processes"); do
    for pass in fast frames unwind slow; do
        for depth in 10 40 100; do
            experiment "$results/walk.csv" both "$pass" --depth "$depth"
        done
        for state in changing never; do
            experiment "$results/walk.csv" both "$pass" --state "$state"
        done
        for state in repeated changing never; do
            experiment "$results/walk.csv" both "$pass" --state "$state" --context
        done
    done
    for depth in 10 40; do
        experiment "$results/walk.csv" plain unwind --depth "$depth"
    done
    for state in repeated changing never; do
        for pass in unwind slow; do
            experiment "$results/walk.csv" plain "$pass" --state "$state"
            experiment "$results/walk.csv" plain "$pass" --state "$state" --context
            experiment "$results/walk.csv" words "$pass" --state "$state" --half
            experiment "$results/walk.csv" words "$pass" --state "$state" --half --context
        done
        experiment "$results/walk.csv" words unwind --state "$state"
    done
    for depth in 10 20 40 70 100 150 200 300; do
        for pass in fast frames unwind slow; do
            experiment "$results/sweep.csv" both "$pass" --depth "$depth"
        done
        experiment "$results/sweep.csv" plain unwind --depth "$depth"
    done
done

# The walkers take turns, a process each. What a walker can't walk has no row.
echo "build,stack,start,depth,walker,first_ns,second_ns,frames" >"$results/first.csv"
for process in $(seq "$first_processes"); do
    for build in both plain words; do
        for walker in frame_pointers sp_backtrace unw_backtrace unw_step glibc libgcc abseil; do
            for stack in whole half; do
                for start in own context; do
                    # words is for the half covered stack, both and plain for the whole ones.
                    case $build:$stack in
                    both:half | plain:half | words:whole) continue ;;
                    esac
                    case $build:$walker in
                    plain:frame_pointers | plain:abseil | words:frame_pointers | words:abseil) continue ;;
                    esac
                    words=
                    [ $stack = whole ] || words=half
                    [ $start = own ] || words="$words context"
                    # shellcheck disable=SC2086 # zero, one or two words
                    found=$("$bin/first-$build-$walker" 100 "$process" $words)
                    echo "$build,$stack,$start,100,$walker,$(echo "$found" | tr ' ' ,)" >>"$results/first.csv"
                done
            done
        done
    done
done
rm -f "$results/rows"
