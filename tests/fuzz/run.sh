#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every fuzz target under libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer.
#
#   sh tests/fuzz/run.sh N [TARGET...]     N executions of each target, or of those named
#
# A target is a file NAME_fuzz.c here; its first comment has lines "Sources: FILE-OR-FOLDER...", what to build it with, from
# the top of the tree; if need be "Libraries: -lNAME..." (with other options), "Flags: FLAG..." for the compiler and
# "Longest: N", the most bytes of an input, if not 2048. Its seeds are in corpus/NAME. What libFuzzer adds stays in
# build/fuzz/NAME.corpus for the next run, and an input that crashed in build/fuzz/NAME.crash-*.
# FUZZ_SEED=NUMBER makes another run of the same length.
#
# Last line: N passed, N failed, N skipped. Exit status: 0 no target crashed, 1 one did, 2 bad usage.
set -eu
cd "$(dirname "$0")/../.."
case ${1-} in
'' | 0* | *[!0-9]*)
    echo "tests/fuzz/run.sh: '${1-}' is no number of executions; usage: sh tests/fuzz/run.sh N [TARGET...]" >&2
    exit 2
    ;;
esac
executions=$1
shift
if [ $# = 0 ]; then
    for source in tests/fuzz/*_fuzz.c; do
        name=${source##*/}
        set -- "$@" "${name%_fuzz.c}"
    done
fi
for name; do
    if [ ! -f "tests/fuzz/${name}_fuzz.c" ]; then
        echo "tests/fuzz/run.sh: there is no target '$name'; a target NAME is a file tests/fuzz/NAME_fuzz.c" >&2
        exit 2
    fi
done

work=build/fuzz
mkdir -p "$work"
flags="-g -O2 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Isrc -Iinclude"
passed=0
failed=0
skipped=0

echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n ? 0 : 0; }' >"$work/probe.c"
# shellcheck disable=SC2086 # one flag a word
if ! clang $flags "$work/probe.c" -o "$work/probe" >"$work/probe.log" 2>&1; then
    for name; do
        echo "skipped: $name: clang can't link with its fuzzer runtime (Debian: apt-get install clang libclang-rt-dev)"
        skipped=$((skipped + 1))
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    exit 0
fi

# What a target's first comment tells under a heading.
told() {
    sed -n "s/^ \* $2: //p" "tests/fuzz/$1_fuzz.c"
}

# Short stacks of allocations, few freed blocks kept, and the corpus not read anew each second: a third of the time.
ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=2:max_malloc_fill_size=0:allocator_release_to_os_interval_ms=-1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export ASAN_OPTIONS

run_target() {
    name=$1
    sources=
    for source in $(told "$name" Sources); do
        [ ! -d "$source" ] || source=$(find "$source" -name '*.[cS]' | sort)
        sources="$sources $source"
    done
    libraries=$(told "$name" Libraries)
    own_flags=$(told "$name" Flags)
    longest=$(told "$name" Longest)
    # shellcheck disable=SC2086 # one file, one flag a word
    clang $flags $own_flags "tests/fuzz/${name}_fuzz.c" tests/fuzz/guarded.c $sources $libraries -o "$work/$name" || return 1
    mkdir -p "$work/$name.corpus"
    status=0
    "$work/$name" "-runs=$executions" "-max_len=${longest:-2048}" -timeout=60 -reload=0 "-seed=${FUZZ_SEED:-1}" -print_final_stats=1 \
        "-artifact_prefix=$work/$name." "$work/$name.corpus" "tests/fuzz/corpus/$name" >"$work/$name.log" 2>&1 || status=$?
    if [ $status != 0 ]; then
        tail -n 40 "$work/$name.log"
        echo "$name: failed with status $status; all of its output is in $work/$name.log"
        return 1
    fi
    echo "$name: $(grep -E '^#[0-9]+.DONE' "$work/$name.log" | tr -s '[:space:]' ' ')"
    grep -E '^[0-9]+ walks|^stat::(number_of_executed_units|average_exec_per_sec|slowest_unit_time_sec)' "$work/$name.log"
}

for name; do
    if run_target "$name"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
