#!/bin/sh
# SPDX-License-Identifier: MIT
# test-installed.sh SOURCE BUILD NESTED: builds SOURCE again into NESTED for a prefix of its own, installs it, and uses it
# from there alone as others would. BUILD is the build that this test is part of. Prints TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tap.sh"
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
nested=$3

unset CFLAGS CXXFLAGS CPPFLAGS LDFLAGS DESTDIR LD_PRELOAD
prefix=$work/prefix
libdir=lib/x86_64-linux-gnu
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig" CMAKE_PREFIX_PATH="$prefix" LD_LIBRARY_PATH="$prefix/$libdir"
export PATH="$prefix/bin:$PATH" CC=gcc-12 CXX=g++-12

# declared HEADER: the functions that it declares itself, as the compiler sees them.
declared() {
    $CC -fsyntax-only -aux-info "$work/declared" -include "$prefix/include/$1" -x c /dev/null || return
    sed -n "s|^/\* $prefix/include/[^ ]* \*/ extern .*[ *]\(sp_[a-z_]*\) (.*|\1|p" "$work/declared" | sort -u
}

install_nested() {
    if [ ! -f "$nested/build.ninja" ]; then
        rm -rf "$nested"
        meson setup "$nested" "$source" --libdir=$libdir -Dtests=disabled -Dexamples=false -Dbenchmarks=false || return
    fi
    meson configure "$nested" --prefix="$prefix" && ninja -C "$nested" && meson install -C "$nested" --no-rebuild
}
check 'builds for a prefix and installs there' install_nested

. "$here/files.sh"
. "$here/consumers.sh"
. "$here/recipes.sh"
. "$here/interface.sh"
. "$here/shell.sh"
finish
