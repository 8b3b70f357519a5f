#!/bin/sh
# SPDX-License-Identifier: MIT
# measure.sh RESULTS [quick]: what a name map of 100,000 functions costs, and 100,000 look-ups by it, by
# addr2line and by GCC's libbacktrace: RESULTS/symbols.csv.
set -eu
cd "$(dirname "$0")/../.."
results=$1
work=build/benchmarks/symbols
mkdir -p "$work"
ninja -C build src/tool/spwalk benchmarks/symbols/lookups >build/benchmarks.log 2>&1 || {
    cat build/benchmarks.log >&2
    exit 2
}
for language in c c++; do
    python3 benchmarks/symbols/generate.py "$language" 100000 1 >"$work/$language.s"
    cc -no-pie -Wl,--build-id -o "$work/$language" benchmarks/symbols/libbacktrace.c "$work/$language.s" -lbacktrace
done
exec python3 benchmarks/symbols/measure.py "$work" build/src/tool/spwalk build/benchmarks/symbols/lookups \
    "$results/symbols.csv" "${2-}"
