# SPDX-License-Identifier: MIT
# Projects that use what is installed, from C and C++. Sourced by test-installed.sh.
# shellcheck shell=sh disable=SC2154

consumer() {
    rm -rf "$work/consumer"
    cp -r "$here/consumer" "$work/consumer"
    cd "$work/consumer" || return
}

one_line() (
    consumer || return
    # shellcheck disable=SC2046 # a word a flag
    "$1" $(pkg-config --cflags --libs spwalk spwalk-plugin) app.c && ./a.out
)
check "gcc-12 \$(pkg-config --cflags --libs spwalk spwalk-plugin) app.c" one_line gcc-12
check "gcc-11 \$(pkg-config --cflags --libs spwalk spwalk-plugin) app.c" one_line gcc-11

static() (
    consumer || return
    # shellcheck disable=SC2046 # a word a flag
    $CC "$@" $(pkg-config --cflags spwalk spwalk-plugin) app.c $(pkg-config --static --libs spwalk) && ./a.out
)
check 'linked with -static' static -static
check 'linked with -static-pie' static -static-pie

# Of the headers as the compiler sees them: what is new there is linked here.
every() (
    consumer || return
    for header in spwalk.h spwalk_symbols.h; do
        declared $header || return
    done | sed 's/.*/EVERY(&)/' >every.h
    # shellcheck disable=SC2086 # a word a flag
    $CC -O2 $1 every.c $2 && ./a.out
)
check 'every function of spwalk.h and spwalk_symbols.h, by the flags of spwalk-symbols alone' \
    every '' "$(pkg-config --cflags --libs spwalk-symbols)"
check 'every function of spwalk.h and spwalk_symbols.h, linked with -static' \
    every -static "$(pkg-config --static --cflags --libs spwalk spwalk-symbols)"

both_run() {
    "$1/consumer-c" && "$1/consumer-cpp"
}

made() (
    consumer && make && both_run .
)
check 'make and pkg-config, C and C++' made

by_meson() (
    consumer && meson setup build && ninja -C build && both_run build
)
check 'Meson, C and C++, against what is installed' by_meson

by_cmake() (
    consumer && cmake -S . -B build && cmake --build build && both_run build
)
check 'CMake, C and C++' by_cmake

cmake_refuses() (
    consumer || return
    sed -i "s/find_package(spwalk .*/$1/" CMakeLists.txt
    ! cmake -S . -B build >out 2>&1 || return
    cat out
    grep -q "$2" out
)
check 'CMake is told of a component that is not there' \
    cmake_refuses 'find_package(spwalk REQUIRED COMPONENTS nonsense)' "without its component 'nonsense'"
check 'CMake does not take another major version' cmake_refuses 'find_package(spwalk 7 REQUIRED)' 'compatible'

# The sources as a release would have them, unpacked by a wrap that names what it provides.
by_wrap() (
    consumer || return
    mkdir -p subprojects/packagefiles
    tar -C "$source" --exclude='./build*' --exclude=./.git --transform='s|^\.|spwalk|' -cf \
        subprojects/packagefiles/spwalk.tar . || return
    cat >subprojects/spwalk.wrap <<END
[wrap-file]
directory = spwalk
source_filename = spwalk.tar
source_hash = $(sha256sum subprojects/packagefiles/spwalk.tar | cut -d' ' -f1)

[provide]
dependency_names = spwalk, spwalk-symbols, spwalk-plugin
END
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    meson setup build --wrap-mode=forcefallback -Dspwalk:plugin_gcc=12 -Dspwalk:tools=disabled -Dwerror=false &&
        ninja -C build && both_run build && ! ninja -C build -t targets all | grep -q subprojects/spwalk/tests
)
check 'Meson, C and C++, with spwalk as a wrapped subproject' by_wrap

headers_alone() {
    for header in spwalk spwalk_symbols spwalk_leaks; do
        for compiler in "gcc-12 -std=c99 -x c" "gcc-11 -std=c11 -x c" "g++-12 -std=c++11 -x c++" "g++-11 -std=c++20 -x c++" \
            "clang -std=c11 -x c" "clang++ -std=c++17 -x c++"; do
            # Twice, as a file that includes it by two ways.
            printf '#include <%s.h>\n#include <%s.h>\n' $header $header >"$work/header"
            # shellcheck disable=SC2086 # a word a flag
            $compiler -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I"$prefix/include" -fsyntax-only "$work/header" ||
                return
        done
    done
}
check 'each header compiles by itself: gcc, g++, clang, clang++, C99 to C++20' headers_alone
