#!/bin/sh
# SPDX-License-Identifier: MIT
# test-mixed.sh COVERED_LIBRARY COVERED_PROGRAM: half the stack by words, the other half by CFI, both whole. Prints TAP.
set -eu
number=0

# expect TITLE COMMAND LINE...: each line is "rule function", as the stack has them from its innermost frame.
expect() {
    number=$((number + 1))
    title=$1
    program=$2
    shift 2
    wanted=$(printf '%s\n' "$@" 'end: outermost')
    found=$("$program" | sed -E 's/^#[0-9]+ +([A-Za-z-]+) +[0-9]+ bytes +/\1 /' | grep -v 'libc_start\|_start$')
    if [ "$found" = "$wanted" ]; then
        echo "ok $number - $title"
    else
        echo "not ok $number - $title"
        echo "$found" | sed 's/^/# /'
    fi
}

expect 'a covered library in a program that is not' "$1" \
    'CFI print_stack' 'CFI on_node' 'word visit_below' 'word visit_below' 'word visit_below' 'word visit_below' \
    'word mixed_visit' 'CFI main'
expect 'a covered program with a library that is not' "$2" \
    'word print_stack' 'word on_node' 'CFI visit_below' 'CFI visit_below' 'CFI visit_below' 'CFI visit_below' \
    'CFI mixed_visit' 'word main'
echo "1..$number"
