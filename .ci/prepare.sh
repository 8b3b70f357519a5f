#!/bin/sh
# SPDX-License-Identifier: MIT
# Called by tests/run, examples/run and benchmarks/run, with their names: installs the Debian packages that are missing
# for them, and builds everything into build/. Exit status 2 where something is missing and can't be installed.
set -eu
cd "$(dirname "$0")/.."

# Which job needs which packages.
packages_for() {
    case $1 in
    build) echo gcc g++ gcc-12 g++-12 gcc-12-plugin-dev libc6-dev meson ninja-build pkgconf libelf-dev libdw-dev liblzma-dev \
        libjansson-dev ;;
    tests) echo check elfutils mandoc man-db cmake make autoconf automake bash libc6-dbg libunwind-dev gcc-11 g++-11 gcc-11-plugin-dev gfortran gfortran-11 clang libclang-rt-dev lld llvm musl-tools binutils \
        openssl dpkg-dev tcl git gdb ltrace sqlite3 curl valgrind ;;
    examples) echo dpkg-dev tcl binutils ;;
    benchmarks) echo ltrace heaptrack libunwind-dev libabsl-dev valgrind dpkg-dev tcl binutils ;;
    ci) echo clang-format shellcheck libclang-rt-dev ;;
    *)
        echo "prepare.sh: unknown job '$1'; known are tests, examples, benchmarks, ci" >&2
        exit 2
        ;;
    esac
}

# Those of the arguments that are not installed.
missing_of() {
    for package; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
        *' installed') ;;
        *) echo "$package" ;;
        esac
    done
}

install_missing() {
    if ! command -v dpkg-query >/dev/null; then
        echo "prepare.sh: this is no Debian system; what is needed goes here by the names of Debian 12's packages:" "$@" >&2
        return
    fi
    missing=$(missing_of "$@" | sort -u | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "These packages are missing; install them and run this again:" >&2
        echo "sudo apt-get install --no-install-recommends ${missing% }" >&2
        exit 2
    fi
    echo "Installing: $missing"
    mkdir -p build
    # shellcheck disable=SC2086 # one word a package
    if ! {
        apt-get -q update &&
            DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 \
                install --no-install-recommends $missing
    } >build/packages.log 2>&1 </dev/null; then
        tail -n 15 build/packages.log >&2
        echo "prepare.sh: could not install: $missing(the whole log is build/packages.log)" >&2
        exit 2
    fi
    installed=1
}

# With --packages nothing is built.
packages_only=
if [ "${1-}" = --packages ]; then
    packages_only=1
    shift
fi

wanted=$(packages_for build)
for job; do
    more=$(packages_for "$job")
    wanted="$wanted $more"
done
installed=0
# shellcheck disable=SC2086 # one word a package
install_missing $wanted
[ -z "$packages_only" ] || exit 0

# Whoever asks for the tests is to be told what is missing for them; others do without.
setup_options=
case " $* " in
*' tests '*) setup_options=-Dtests=enabled ;;
esac

# A package that has come since may change what the build found at its setup.
if [ ! -f build/build.ninja ]; then
    mkdir -p build
    # shellcheck disable=SC2086 # one word or none
    meson setup build $setup_options >build/setup.log 2>&1 || { cat build/setup.log >&2 && exit 2; }
elif [ "$installed" = 1 ] || { [ -n "$setup_options" ] && [ ! -d build/tests ]; }; then
    # shellcheck disable=SC2086 # one word or none
    meson setup --reconfigure build $setup_options >build/setup.log 2>&1 || { cat build/setup.log >&2 && exit 2; }
fi
# Each benchmark builds what it measures, and no test has to be waited for.
[ "$*" != benchmarks ] || exit 0
if ! ninja -C build >build/build.log 2>&1; then
    cat build/build.log >&2
    exit 2
fi
