#!/bin/sh
# SPDX-License-Identifier: MIT
# What the plugin refuses, each with one clear message and a failed compilation; and how it is found by name.
. "$(dirname "$0")/tap.sh"

echo 'int puts(const char *); int f(void) { return puts("x") + 1; }' >one.c
here=$(dirname "$plugin")

# refuses TEXT OPTIONS...: exactly one error, with this text, and no object file
refuses() {
    text=$1
    shift
    rm -f one.o
    if $gcc -fplugin="$plugin" "$@" -c one.c -o one.o 2>messages; then
        echo "it was compiled"
        return 1
    fi
    cat messages
    [ ! -f one.o ] && [ "$(grep -c 'error:' messages)" -eq 1 ] && grep -qF -e "$text" messages &&
        ! grep -q 'internal compiler error' messages
}
check "-m32" refuses "frame words are for x86-64 code only" -m32
check "-mx32" refuses "frame words are for x86-64 code only" -mx32
check "unknown argument" refuses "unknown argument" -fplugin-arg-spwalk-verbos
check "unknown argument with a value" refuses "unknown argument" -fplugin-arg-spwalk-lists=all
check "a report in a file without a name" refuses "needs a file to append to" -fplugin-arg-spwalk-verbose=
check "a report that cannot be written" refuses "cannot append to" -fplugin-arg-spwalk-verbose=/nonexistent/report

for other in "$here"/../gcc-*/spwalk.so; do
    [ "$(cd "$(dirname "$other")" && pwd)" != "$here" ] || continue
    refuses_other() {
        ! $gcc -fplugin="$other" -c one.c 2>messages || return
        cat messages
        [ "$(grep -c 'error:' messages)" -eq 1 ] && grep -q 'this plugin was built for GCC' messages
    }
    check "the plugin of another GCC" refuses_other
done

by_name() {
    $gcc -iplugindir="$here" -fplugin=spwalk -fplugin-arg-spwalk-verbose -c one.c 2>messages && cat messages &&
        grep -q 'f: covered' messages
}
check "-fplugin=spwalk finds it in the plugin folder" by_name

quiet() {
    $gcc -fplugin="$plugin" -Wall -Wextra -Werror -pedantic -O2 -c one.c 2>messages && test ! -s messages
}
check "without arguments it says nothing" quiet

no_output() {
    $gcc -fplugin="$plugin" -E one.c >/dev/null && $gcc -fplugin="$plugin" -fsyntax-only one.c &&
        $gcc -fplugin="$plugin" -M one.c >/dev/null && $gcc -fplugin="$plugin" --version >/dev/null
}
check "-E, -fsyntax-only, -M and --version" no_output

described() {
    $gcc -fplugin="$plugin" --help -v -c one.c 2>&1 | grep 'fplugin-arg-spwalk-verbose\[=FILE\]'
}
check "--help shows its arguments" described

appends() {
    rm -f report
    for _ in 1 2; do
        $gcc -fplugin="$plugin" -fplugin-arg-spwalk-verbose=report -c one.c || return
    done
    [ "$(grep -c 'f: covered' report)" -eq 2 ]
}
check "a report in a file is appended to" appends
finish
