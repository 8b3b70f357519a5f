#!/bin/sh
# SPDX-License-Identifier: MIT
# measure.sh FOLDER [quick]: writes FOLDER/overhead.csv.
set -eu
ninja -C build compiler-plugin/gcc-12/spwalk.so benchmarks/walk/libchange.so >build/benchmarks.log 2>&1 || {
    cat build/benchmarks.log >&2
    exit 2
}
exec python3 "$(dirname "$0")/measure.py" "$@"
