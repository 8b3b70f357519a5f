#!/bin/sh
# SPDX-License-Identifier: MIT
# Cases 5, 11 and 14 (8, musl, is in tests/musl): programs built in all the ways that have led walkers astray. TAP.
#
#   builds.sh GCC-VERSION PLUGIN CHECK-WORDS LIBSPWALK.A
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
spwalk=$(realpath "$4")
gcc=gcc-$1
plugin=$(realpath "$2")
check_words=$(realpath "$3")
. "$here/../tap.sh"
cd "$work" || exit 2

sources="$here/stacks.c $here/tap.c $here/walks.c"
flags="-O2 -g -w -D_GNU_SOURCE -I$root/include -pthread"

# shellcheck disable=SC2086 # lists of options and files, here and below
build() {
    output=$1
    shift
    $gcc $flags "$@" $sources "$spwalk" -o "$output"
}

runs() {
    timeout 200 "./$1"
}

# built NAME OPTIONS...
built() {
    build "$@" && runs "$1"
}

check "static" built static -static
check "static, with words" built static-words -static -fplugin="$plugin"
check "static PIE" built static-pie -static-pie -fPIE
check "static PIE, with words" built static-pie-words -static-pie -fPIE -fplugin="$plugin"
check "no PIE" built no-pie -no-pie -fno-pie
for linker in lld gold; do
    if command -v ld.$linker >/dev/null; then
        check "linked by $linker, whose addresses are not its offsets" built by-$linker -fuse-ld=$linker
        check "linked by $linker, static" built by-$linker-static -fuse-ld=$linker -static
    else
        skip "linked by $linker" "ld.$linker is not installed"
    fi
done

# No section header is left: none is said to be there (e_shoff, e_shnum, e_shstrndx).
headless() {
    cp "$1" "$1-headless" && printf '\0\0\0\0\0\0\0\0' | dd of="$1-headless" bs=1 seek=40 conv=notrunc status=none &&
        printf '\0\0\0\0' | dd of="$1-headless" bs=1 seek=60 conv=notrunc status=none &&
        readelf -hW "$1-headless" | grep -q 'Number of section headers: *0$' && runs "$1-headless"
}
for linked in static static-pie no-pie; do
    check "$linked without section headers" headless $linked
done

# The table of .eh_frame_hdr is said to be omitted: bytes 2 and 3 are the encodings of its count and its entries.
without_table() {
    offset=$(readelf -lW "$1" | awk '$1 == "GNU_EH_FRAME" { print $2 }')
    [ -n "$offset" ] && cp "$1" "$1-no-table" &&
        printf '\377\377' | dd of="$1-no-table" bs=1 seek=$((offset + 2)) conv=notrunc status=none && runs "$1-no-table"
}
check "static with .eh_frame_hdr, which GCC leaves out there" built static-hdr -static -Wl,--eh-frame-hdr
for linked in static-hdr static-pie no-pie; do
    check "$linked without a table in .eh_frame_hdr" without_table $linked
done

# Words under -flto: as many functions carry one as do without.
under_lto() {
    build words -fplugin="$plugin" && build lto -flto -fplugin="$plugin" && runs lto && "$check_words" lto || return
    plain=$("$check_words" --records words | wc -l)
    lto=$("$check_words" --records lto | wc -l)
    echo "$plain records without -flto, $lto with it"
    [ "$lto" -gt 10 ] && [ "$lto" -ge $((plain / 2)) ]
}
check "words under -flto" under_lto

no_executable_stack() {
    for file in words lto "$spwalk_so"; do
        readelf -lW "$file" | grep GNU_STACK | grep -v RWE || return
    done
}
spwalk_so=$(dirname "$spwalk")/libspwalk.so
check "no executable stack" no_executable_stack

# Hand-written assembly at work, its CFA in a register that only the context has.
profiled() {
    $gcc $flags -shared -fPIC "$here/profile.c" "$spwalk" -o profile.so || return
    LD_PRELOAD=$PWD/profile.so "$@" 2>&1 >/dev/null | grep '^walks' >counts
    cat counts
    # A few may land where its CFI is wrong or missing, and are marked.
    awk '{ good = $2 >= 3 && $4 >= $2 * 9 / 10 && $6 == 0 } END { exit !good }' counts
}
if command -v openssl >/dev/null; then
    check "openssl's RSA under a profiler" profiled openssl speed -seconds 1 rsa2048
    check "openssl's SHA and AES under a profiler" profiled openssl speed -seconds 1 -bytes 8192 sha512 aes-128-cbc
else
    skip "openssl under a profiler" "openssl is not installed"
fi
finish
