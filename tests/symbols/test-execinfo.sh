#!/bin/sh
# SPDX-License-Identifier: MIT
# test-execinfo.sh PROGRAM LIBRARY: a program that calls backtrace(3), unchanged, with LIBRARY preloaded. Prints TAP.
set -u
number=0
check() {
    number=$((number + 1))
    if [ "$1" = "$2" ]; then
        echo "ok $number - $3"
    else
        echo "not ok $number - $3"
        printf '%s\n' "found: $1" "expected: $2" | sed 's/^/# /'
    fi
}
plain=$("$1") || echo "# plain: status $?"
ours=$(LD_PRELOAD="$2" "$1") || echo "# preloaded: status $?"
addresses() { printf '%s\n' "$1" | sed -n '/^--$/q;s/(.*//;p' | sed 's|.*/||' | tr '\n' ' '; }
check "$(addresses "$ours")" "$(addresses "$plain")" "as many frames in the same modules as by the C library"
check "$(printf '%s\n' "$ours" | sed -n '/^--$/q;s/.*(\([a-z_]*\)+0x.*/\1/p' | head -n 3 | tr '\n' ' ')" "innermost middle main " \
    "static functions have their names"
check "$(printf '%s\n' "$ours" | sed '1,/^--$/d' | sed 's/.*\[\(.*\)\]/\1/' | tr '\n' ' ')" \
    "$(printf '%s\n' "$ours" | sed -n '/^--$/q;p' | sed 's/.*\[\(.*\)\]/\1/' | tr '\n' ' ')" "backtrace_symbols_fd gives the same addresses"
echo "1..$number"
