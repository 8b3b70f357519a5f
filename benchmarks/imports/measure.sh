#!/bin/sh
# SPDX-License-Identifier: MIT
# measure.sh RESULTS [quick]: what counting calls costs, by spwalk imports, LD_AUDIT and ltrace: RESULTS/imports.csv.
set -eu
cd "$(dirname "$0")/../.."
results=$1
work=build/benchmarks/imports-programs
mkdir -p "$work"
cc -O2 -shared -fPIC -Wl,-soname,libfunctions.so -o "$work/libfunctions.so" benchmarks/imports/functions.c
cc -O2 -shared -fPIC -o "$work/auditor.so" benchmarks/imports/auditor.c
for binding in lazy now no-plt; do
    case $binding in
    lazy) flags='-Wl,-z,lazy' ;;
    now) flags='-Wl,-z,now,-z,relro' ;;
    no-plt) flags='-fno-plt' ;;
    esac
    # shellcheck disable=SC2086 # one word or more
    cc -O2 -pthread $flags -o "$work/loop-$binding" benchmarks/imports/loop.c -L"$work" -lfunctions \
        -Wl,-rpath,"$PWD/$work"
done
ninja -C build src/tool/spwalk src/imports/libspwalk-imports.so >build/benchmarks.log 2>&1 || {
    cat build/benchmarks.log >&2
    exit 2
}
exec python3 benchmarks/imports/measure.py "$work" build/src/tool/spwalk "$results/imports.csv" "${2-}"
