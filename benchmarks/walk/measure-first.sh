#!/bin/sh
# SPDX-License-Identifier: MIT
# measure-first.sh FOLDER [quick]: times the first walks of many processes and writes FOLDER/first.csv.
set -eu
results=$1
bin=build/benchmarks/walk
first_processes=15
[ "${2-}" != quick ] || first_processes=5

# The walkers take turns, a process each. What a walker can't walk has no row.
echo "process,build,stack,start,depth,walker,first_ns,second_ns,frames" >"$results/first.csv"
for process in $(seq "$first_processes"); do
    for depth in 10 40 100; do
        for program in "$bin"/first-both-* "$bin"/first-plain-* "$bin"/first-words-*; do
            [ -f "$program" ] || continue
            name=${program##*/first-}
            build=${name%%-*} walker=${name#*-}
            for start in own context; do
                # words is for the half covered stack, both and plain for the whole ones.
                stack=whole words=
                [ "$build" != words ] || stack=half words=half
                [ $start = own ] || words="$words context"
                # shellcheck disable=SC2086 # zero, one or two words
                found=$("$program" "$depth" "$process" $words)
                echo "$process,$build,$stack,$start,$depth,$walker,$(echo "$found" | tr ' ' ,)" >>"$results/first.csv"
            done
        done
    done
done
