#!/bin/sh
# SPDX-License-Identifier: MIT
# test-musl.sh SOURCE NESTED PLUGIN: builds the runtime with musl-gcc into NESTED, and walks with it, dynamic and static,
# with and without words. PLUGIN is the plugin for gcc. Prints TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tap.sh"
source=$(cd "$1" && pwd)
nested=$2
plugin=$3
unset CFLAGS CPPFLAGS LDFLAGS

if ! command -v musl-gcc >/dev/null; then
    echo '1..0 # SKIP musl-gcc is not installed (package musl-tools)'
    exit
fi

build() {
    [ -f "$nested/build.ninja" ] || CC=musl-gcc meson setup "$nested" "$source" -Dplugin=disabled -Dwerror=true || return
    ninja -C "$nested"
}
check 'the runtime builds with musl-gcc, without a warning' build

is_musl() {
    readelf -dW "$nested/src/walk/libspwalk.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
    cat "$work/needed"
    [ "$(cat "$work/needed")" = libc.so ]
}
check 'it needs libc alone' is_musl

# What is not there says so, instead of failing to build.
refused() {
    rm -rf "$work/refused"
    ! CC=musl-gcc meson setup "$work/refused" "$source" -Dplugin=disabled "-D$1=enabled" >"$work/setup" 2>&1 || return
    cat "$work/setup"
    grep -q "$2" "$work/setup"
}
check 'libspwalk-symbols is refused, with the reason' refused symbols 'needs glibc'
check 'the spwalk command is refused, with the reason' refused tools 'needs libspwalk-symbols'

compiles() {
    rm -f "$work/program"
    # As spwalk.pc says: musl-gcc leaves .eh_frame without its table.
    musl-gcc -Wl,--eh-frame-hdr -O2 -g -Wall -Wextra -Werror "-I$source/include" "$@" -pthread -o "$work/program"
}
for words in '' "-DWITH_WORDS -fplugin=$plugin"; do
    for link in "$nested/src/walk/libspwalk.so -Wl,-rpath,$nested/src/walk" "-static $nested/src/walk/libspwalk.a"; do
        how=${link%% *}
        case $how in -static) ;; *) how=dynamic ;; esac
        how="$how${words:+, words}"
        # shellcheck disable=SC2086 # a word a flag
        check "a program builds: $how" compiles $words "$here/program.c" $link
        for case in $("$work/program"); do
            check "$case: $how" timeout 60 "$work/program" "$case"
        done
    done
done
finish
