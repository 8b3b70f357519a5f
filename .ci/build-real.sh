#!/bin/sh
# SPDX-License-Identifier: MIT
# build-real.sh PROGRAM OUT FLAG...: builds a real program from its Debian source with these compiler flags, as OUT.
#
#   sqlite    the amalgamation and its own benchmark, speedtest1
#   lua       the interpreter
#   bzip2     the compressor
#   zlib      the library with its own test program, minigzip
#   zstd      library and compressor
#   jsoncpp   the C++ library with benchmarks/overhead/json.cc
#
# CC and CXX name the compilers; LDFLAGS is added at the link; OBJECTS is a folder to leave the objects in.
# Exit status 77 and a line on stderr where no source can be had, 1 where the build fails (the compiler's output is then
# on stderr).
set -eu
[ $# -ge 2 ] || { echo "usage: build-real.sh PROGRAM OUT FLAG..." >&2 && exit 2; }
cd "$(dirname "$0")/.."
program=$1
out=$2
shift 2
case $out in
/*) ;;
*) out=$PWD/$out ;;
esac
CC=${CC:-gcc}
CXX=${CXX:-g++}
mkdir -p "$(dirname "$out")"
objects=${OBJECTS-}
if [ -z "$objects" ]; then
    objects=$(mktemp -d "$out.XXXXXX")
    trap 'rm -rf "$objects"' EXIT
fi

# compile COMPILER FLAG... -- FILE...: objects into $objects, two at a time.
compile() {
    command=
    while [ "$1" != -- ]; do
        command="$command '$1'"
        shift
    done
    shift
    for file; do
        echo "$command -c '$file' -o '$objects/$(basename "$file").o'"
    done | xargs -P "$(nproc)" -I '{}' sh -c '{}' >"$objects/log" 2>&1 || {
        head -n 20 "$objects/log" >&2
        echo "build-real.sh: $program does not build" >&2
        exit 1
    }
}

link() {
    compiler=$1
    shift
    # shellcheck disable=SC2086 # a word a flag
    $compiler "$objects"/*.o ${LDFLAGS-} "$@" -o "$out"
}

# SQLite's one file is put together once, by its own Makefile.
amalgamation() {
    folder=$PWD/build/sources/sqlite3-amalgamation
    [ -d "$folder" ] && return
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    if ! (cd "$folder.new" && "$1/configure" --disable-tcl && make sqlite3.c) >"$folder.log" 2>&1; then
        tail -n 20 "$folder.log" >&2
        echo "build-real.sh: sqlite3.c could not be made" >&2
        exit 1
    fi
    mv "$folder.new" "$folder"
}

source_of() {
    sh .ci/debian-source.sh "$1"
}

case $program in
sqlite)
    source=$(source_of sqlite3)
    amalgamation "$source"
    compile "$CC" "$@" -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION "-I$folder" -- \
        "$folder/sqlite3.c" "$source/test/speedtest1.c"
    link "$CC" "$@" -lm
    ;;
lua)
    source=$(source_of lua5.4)
    # Debian's build makes this header; luaconf.h takes a folder's name from it.
    echo '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"' >"$objects/lua5.4-deb-multiarch.h"
    set -- "$@" -w -DLUA_USE_LINUX "-I$objects"
    files=$(find "$source/src" -name '*.c' ! -name luac.c | sort)
    # shellcheck disable=SC2086 # a word a file
    compile "$CC" "$@" -- $files
    link "$CC" "$@" -Wl,-E -lm -ldl
    ;;
bzip2)
    source=$(source_of bzip2)
    compile "$CC" "$@" -w -D_FILE_OFFSET_BITS=64 -- "$source/blocksort.c" "$source/huffman.c" "$source/crctable.c" \
        "$source/randtable.c" "$source/compress.c" "$source/decompress.c" "$source/bzlib.c" "$source/bzip2.c"
    link "$CC" "$@"
    ;;
zlib)
    source=$(source_of zlib)
    files=$(find "$source" -maxdepth 1 -name '*.c' | sort)
    # shellcheck disable=SC2086 # a word a file
    compile "$CC" "$@" -w -DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=1 "-I$source" -- $files "$source/test/minigzip.c"
    link "$CC" "$@"
    ;;
zstd)
    source=$(source_of libzstd)
    files=$(find "$source/lib/common" "$source/lib/compress" "$source/lib/decompress" "$source/lib/dictBuilder" \
        "$source/programs" -name '*.c' | sort)
    # shellcheck disable=SC2086 # a word a file
    compile "$CC" "$@" -w -DXXH_NAMESPACE=ZSTD_ -DZSTD_LEGACY_SUPPORT=0 -DZSTD_DISABLE_ASM=1 "-I$source/lib" \
        "-I$source/lib/common" -- $files
    link "$CC" "$@"
    ;;
jsoncpp)
    source=$(source_of libjsoncpp)
    compile "$CXX" "$@" -w "-I$source/include" -- "$source/src/lib_json/json_reader.cpp" \
        "$source/src/lib_json/json_value.cpp" "$source/src/lib_json/json_writer.cpp" "$PWD/benchmarks/overhead/json.cc"
    link "$CXX" "$@"
    ;;
*)
    echo "build-real.sh: unknown program '$program'" >&2
    exit 2
    ;;
esac
