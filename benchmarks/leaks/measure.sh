#!/bin/sh
# SPDX-License-Identifier: MIT
# measure.sh RESULTS [quick]: what recording every block costs, by spwalk leaks (programs with and without frame words),
# heaptrack, valgrind and LeakSanitizer: RESULTS/leaks.csv.
set -eu
cd "$(dirname "$0")/../.."
results=$1
work=build/benchmarks/leaks
plugin=$PWD/build/compiler-plugin/gcc-12/spwalk.so
mkdir -p "$work"
ninja -C build src/tool/spwalk src/leaks/libspwalk-leaks.so compiler-plugin/gcc-12/spwalk.so >build/benchmarks.log 2>&1 || {
    cat build/benchmarks.log >&2
    exit 2
}
for kind in plain words lsan; do
    case $kind in
    plain) flags='' ;;
    words) flags="-fplugin=$plugin" ;;
    lsan) flags='-fsanitize=leak' ;;
    esac
    for program in sqlite lua; do
        # shellcheck disable=SC2086 # none, or one
        [ -x "$work/$program-$kind" ] || CC=gcc-12 sh .ci/build-real.sh "$program" "$work/$program-$kind" -O2 -g $flags || true
    done
    # shellcheck disable=SC2086 # none, or one
    g++-12 -O2 -g $flags -o "$work/map-$kind" benchmarks/leaks/map.cc
done
gcc-12 -w -O1 -pthread -o "$work/many" tests/leaks/many.c
exec python3 benchmarks/leaks/measure.py "$work" build/src/tool/spwalk "$results/leaks.csv" "${2-}"
