#!/bin/sh
# SPDX-License-Identifier: MIT
# test-sampler.sh SAMPLER SPIN: the sampler's hottest stacks are those where the program spends its time, named and whole.
# Prints TAP.
set -eu
report=$(SAMPLER_TOP=2 LD_PRELOAD=$1 "$2" 2>&1)

# stack N: the names of the Nth stack's frames.
stack() {
    echo "$report" | awk -v wanted="$1" '/ samples$/ { stack++; next } stack == wanted { print $1 }' | grep -v libc_start |
        tr '\n' ' '
}

number=0
expect() {
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$report" | sed 's/^/# /'
    fi
}

expect 'the hottest stack' "$(stack 1)" 'burn hot main _start '
expect 'the next one' "$(stack 2)" 'burn warm main _start '
lost=$(echo "$report" | sed -n 's/.* samples, \([0-9]*\) lost.*/\1/p')
expect 'nothing is lost' "$lost" 0
echo "1..$number"
