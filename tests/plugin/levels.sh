#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs in three languages at every level: they do what they do without the plugin, their words are right while they
# run (probe.h) and in their machine code (check-words), and each calling function has one store of its word.
. "$(dirname "$0")/tap.sh"

# same_with_words COMPILER LEVEL SOURCES...
same_with_words() {
    compiler=$1 level=$2
    shift 2
    # shellcheck disable=SC2086 # a level is a list of options
    {
        $compiler $level -w "$@" -o plain -pthread &&
            $compiler $level -w -DWITH_WORDS -fplugin="$plugin" "$@" -o words -pthread &&
            ./plain >plain.out && ./words >words.out && cmp plain.out words.out && "$check_words" words
    }
}

one_store_each() {
    $gcc $1 -w -fno-reorder-blocks-and-partition -fplugin="$plugin" -S "$programs/calls.c" -o words.s || return
    for function in passes_on_stack takes_large sum_of:"$1" shrink_wrapped uses_all_registers large_frame switches \
        leaves jumps builtin_jumps nested recursive signalled main; do
        count=$(stores "${function%%:*}" words.s)
        case $function in
        # A leaf at the levels where nothing is asked of the stack.
        takes_large | sum_of:*) [ "$count" -eq 0 ] ;;
        *) [ "$count" -eq 1 ] ;;
        esac || {
            echo "$function stores $count words"
            return 1
        }
    done
    for function in add_eight skipped huge_frame dynamic_frame; do
        [ "$(stores $function words.s)" -eq 0 ] || {
            echo "$function stores a word"
            return 1
        }
    done
}

for level in -O0 -O1 -O2 -O3 -Os -Og -g '-O2 -g' '-O2 -flto'; do
    check "C $level: same output, right words" same_with_words "$gcc" "$level" "$programs/calls.c" "$programs/probe.S"
    check "C++ $level: same output, right words" same_with_words "$gxx" "$level" "$programs/exceptions.cc" \
        "$programs/probe.S"
    if command -v "$gfortran" >/dev/null; then
        check "Fortran $level: same output, right words" same_with_words "$gfortran" "$level" "$programs/numbers.f90"
    else
        skip "Fortran $level" "$gfortran is not installed"
    fi
    case $level in
    *flto*) ;;
    *) check "$level: one store in each calling function" one_store_each "$level" ;;
    esac
done
finish
