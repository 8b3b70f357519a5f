#!/bin/sh
# SPDX-License-Identifier: MIT
# test-crash.sh CRASH: the handler prints the whole stack with names, and the program ends by its signal. Prints TAP.
set -u
status=0
output=$("$1" 2>&1 >/dev/null) || status=$?
names=$(echo "$output" | sed -n 's/^#[0-9]* .*  \([a-z_A-Z]*\)+0x[0-9a-f]*$/\1/p' | grep -v libc_start | tr '\n' ' ')
if [ "$names" = "largest_of_list largest_of_list largest_of_list largest_of_list report main _start " ]; then
    echo "ok 1 - the stack at the crash has its names"
else
    echo "not ok 1 - the stack at the crash has its names"
    echo "$output" | sed 's/^/# /'
fi
if [ $status -eq 139 ]; then echo "ok 2 - it ends by SIGSEGV"; else echo "not ok 2 - it ends by SIGSEGV, not status $status"; fi
echo "1..2"
