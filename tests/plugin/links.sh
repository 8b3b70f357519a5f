#!/bin/sh
# SPDX-License-Identifier: MIT
# Records through the linkers: found by program headers alone, right for the code they end up with, of one copy of a
# function that two files have, gone with functions that are gone, there after strip.
. "$(dirname "$0")/tap.sh"

first=$programs/link/first.cc
second=$programs/link/second.cc
common="-O2 -fno-rtti -fno-exceptions -w"

# records FILE: how many
records() {
    "$check_words" --records "$1" | wc -l
}

# has SYMBOL FILE
has() {
    nm "$2" | grep -q " $1\$"
}

# runs FILE
runs() {
    "./$1" >"$1.out" && cmp plain.out "$1.out"
}

# shellcheck disable=SC2086 # lists of options, here and below
$gxx $common "$first" "$second" -o plain && ./plain >plain.out || exit 2

# A program: its words are right, and what --gc-sections drops takes its records along.
program() {
    options="$common $* -fplugin=$plugin"
    $gxx $options "$first" "$second" -o whole && runs whole && "$check_words" whole &&
        $gxx $options -ffunction-sections -Wl,--gc-sections "$first" "$second" -o collected && runs collected &&
        "$check_words" collected || return
    all=$(records whole)
    live=$(records collected)
    if has _Z10first_deadv collected || has _Z11second_deadi collected; then
        echo "a dead function is still there"
        return 1
    fi
    echo "$all records, $live after --gc-sections"
    [ "$live" -ge 4 ] && [ "$live" -eq $((all - 2)) ]
}

# A shared library that holds one of the two files.
library() {
    options="$common $* -fplugin=$plugin -fPIC"
    $gxx $options -shared -ffunction-sections -Wl,--gc-sections "$second" -o libsecond.so && "$check_words" libsecond.so &&
        [ "$(records libsecond.so)" -ge 5 ] &&
        $gxx $options "$first" -o dynamic -L. -lsecond -Wl,-rpath,"$PWD" && runs dynamic && "$check_words" dynamic
}

# What strip leaves has the same records.
stripped() {
    # shellcheck disable=SC2048 # a word a flag
    $gxx $common $* -fplugin="$plugin" "$first" "$second" -o whole && "$check_words" --records whole >before &&
        strip --strip-all -o small whole && runs small && "$check_words" --records small >after && [ -s after ] &&
        cmp before after
}

# No section headers at all.
headless() {
    stripped "$@" && llvm-objcopy --strip-sections small smallest && runs smallest &&
        "$check_words" --records smallest >after && cmp before after
}

# The files are joined into one object first.
joined() {
    $gxx $common -fplugin="$plugin" -ffunction-sections -c "$first" -o first.o &&
        $gxx $common -fplugin="$plugin" -ffunction-sections -c "$second" -o second.o &&
        ld $1 -r first.o second.o -o both.o && $gxx $1 -Wl,--gc-sections both.o -o whole && runs whole &&
        "$check_words" whole && [ "$(records whole)" -ge 7 ]
}

for linker in bfd lld gold; do
    ld=-fuse-ld=$linker
    if ! command -v ld.$linker >/dev/null; then
        skip "$linker" "ld.$linker is not installed"
        continue
    fi
    check "$linker: PIE" program $ld -fPIE -pie
    check "$linker: no PIE" program $ld -fno-pie -no-pie
    check "$linker: static" program $ld -static
    if [ $linker = gold ]; then
        skip "gold: static PIE" "gold cannot link one"
    else
        check "$linker: static PIE" program $ld -fPIE -static-pie
    fi
    if [ $linker = lld ]; then
        skip "lld: -flto" "lld cannot read GCC's LTO objects"
    else
        check "$linker: -flto" program $ld -flto
    fi
    check "$linker: build-id, RELRO, hash styles" program $ld -Wl,--build-id -Wl,-z,relro,-z,now -Wl,--hash-style=both
    check "$linker: shared library" library $ld
    check "$linker: shared library, -Bsymbolic" library $ld -Wl,-Bsymbolic
    check "$linker: strip" stripped $ld
    if command -v llvm-objcopy >/dev/null; then
        check "$linker: no section headers" headless $ld
    else
        skip "$linker: no section headers" "llvm-objcopy is not installed"
    fi
done
check "-r" joined ""

# Only the compile step, or only the link step, of -flto has the plugin.
lto_compile_only() {
    $gxx $common -flto -fplugin="$plugin" -c "$first" -o first.o && $gxx $common -flto -fplugin="$plugin" -c "$second" \
        -o second.o && $gxx $common -flto first.o second.o -o whole && runs whole && "$check_words" whole &&
        [ "$(records whole)" -eq 0 ]
}
lto_link_only() {
    $gxx $common -flto -c "$first" -o first.o && $gxx $common -flto -c "$second" -o second.o &&
        $gxx $common -flto -fplugin="$plugin" first.o second.o -o whole && runs whole && "$check_words" whole &&
        [ "$(records whole)" -gt 0 ]
}
fat_objects() {
    $gxx $common -flto -ffat-lto-objects -fplugin="$plugin" -c "$first" -o first.o &&
        $gxx $common -flto -ffat-lto-objects -fplugin="$plugin" -c "$second" -o second.o &&
        $gxx $common -fno-lto first.o second.o -o whole && runs whole && "$check_words" whole &&
        [ "$(records whole)" -gt 0 ]
}
check "-flto: the plugin at the compile step only does nothing" lto_compile_only
check "-flto: the plugin at the link step only suffices" lto_link_only
check "-flto: fat objects linked without it have words" fat_objects

# Nothing about the words is visible to the linker's users.
no_symbols() {
    $gxx $common -fplugin="$plugin" -c "$first" -o first.o && $gxx $common -c "$first" -o plain.o &&
        nm first.o >with && nm plain.o >without && sed -i 's/^[0-9a-f]* //' with without && cmp with without
}
check "no symbols are added" no_symbols
finish
