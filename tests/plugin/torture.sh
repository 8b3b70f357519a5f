#!/bin/sh
# SPDX-License-Identifier: MIT
# GCC's own gcc.c-torture/execute programs, built with the plugin: none may fail that passes plain, and check-words must
# find no fault in the code. Takes about half an hour on two CPUs; called by tests/run --torture.
#
#   sh tests/plugin/torture.sh [--gcc N] [--options "OPTIONS"] [--part K/N]
#
# --gcc: 12 unless given. --options: one set of options instead of the four below. --part: each Nth test from the Kth on.
# The programs come from the Debian package gcc-12-source, which is installed where that can be done.
# Last line: N passed, N failed, N skipped. Exit status: 0, or 1 where there is a new failure, or 2 on bad usage.
set -eu

# Few processes a program, since on a busy machine each waits for its turn.

# shellcheck disable=SC2086 # lists of options
with_plugin() {
    if ! $build -fplugin="$TORTURE_PLUGIN" $files -o "$work/words" -lm >"$work/log" 2>&1; then
        fault="does not compile: $(head -n 1 "$work/log")"
    elif ! timeout 60 "$work/words" >"$work/log" 2>&1 </dev/null &&
        ! timeout 600 "$work/words" >"$work/log" 2>&1 </dev/null; then
        fault="does not run"
    elif ! "$TORTURE_CHECK" "$work/words" >"$work/log" 2>&1; then
        fault="has wrong words: $(head -n 1 "$work/log")"
    else
        return 0
    fi
    return 1
}

# Only asked where it fails with the plugin: half of the time is saved.
# shellcheck disable=SC2086 # lists of options
passes_plain() {
    $build $files -o "$work/plain" -lm >"$work/log" 2>&1 && timeout 60 "$work/plain" >"$work/log" 2>&1 </dev/null
}

# One program, "FILE:OPTIONS": "OK", "PLAIN" (fails, plain too) or "NEW" (fails with the plugin only), with the name and
# the reason or check-words' sums.
one() {
    source=${1%%:*} folder=${source%/*} name=${source##*/} files=$source
    case $source in
    */builtins/*) files="$source ${source%.c}-lib.c $folder/lib/main.c" ;;
    */ieee/*) name=ieee/$name ;;
    esac
    build="$TORTURE_GCC $TORTURE_OPTIONS ${1#*:} -w"
    if with_plugin; then
        read -r sums <"$work/log"
        result="OK $name ${sums#*records, }"
    elif passes_plain; then
        result="NEW $name $fault"
    else
        result="PLAIN $name $fault"
    fi
    # One write, so that the lines of two jobs stay whole.
    printf '%s\n' "$result" >>"$TORTURE_WORK/results"
}
if [ "${1-}" = --some ]; then
    shift
    work=$(mktemp -d "$TORTURE_WORK/some.XXXXXX")
    for program; do
        one "$program"
    done
    rm -rf "$work"
    exit 0
fi

usage() {
    echo "torture.sh: $1; usage: sh tests/plugin/torture.sh [--gcc N] [--options \"OPTIONS\"] [--part K/N]" >&2
    exit 2
}

skip() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

gcc=12 only='' part=1 parts=1
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage "argument '$1' is unknown or lacks its value"
    case $1 in
    --gcc) gcc=$2 ;;
    --options) only=$2 ;;
    --part)
        part=${2%/*} parts=${2#*/}
        case $part$parts in *[!0-9]* | '') usage "--part takes K/N, not '$2'" ;; esac
        ;;
    *) usage "unknown argument '$1'" ;;
    esac
    shift 2
done

cd "$(dirname "$0")/../.."
build=$PWD/build
TORTURE_GCC=gcc-$gcc
TORTURE_PLUGIN=$build/compiler-plugin/gcc-$gcc/spwalk.so
TORTURE_CHECK=$build/tests/plugin/check-words
[ -f "$TORTURE_PLUGIN" ] || skip "there is no plugin for GCC $gcc in build/"

programs=$build/torture/execute
if [ ! -d "$programs" ]; then
    archive=$(ls /usr/src/gcc-12/gcc-12.*.tar.xz 2>/dev/null || true)
    if [ -z "$archive" ] && [ "$(id -u)" = 0 ]; then
        apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends gcc-12-source >"$build/torture.log" 2>&1 ||
            skip "gcc-12-source cannot be installed: $(tail -n 1 "$build/torture.log")"
        archive=$(ls /usr/src/gcc-12/gcc-12.*.tar.xz)
    fi
    [ -n "$archive" ] || skip "no programs: sudo apt-get install gcc-12-source"
    mkdir -p "$build/torture"
    tar -C "$build/torture" --strip-components=4 --wildcards -xJf "$archive" '*/gcc/testsuite/gcc.c-torture/execute'
fi

TORTURE_WORK=$(mktemp -d "$build/torture/run.XXXXXX")
trap 'rm -rf "$TORTURE_WORK"' EXIT
export TORTURE_GCC TORTURE_PLUGIN TORTURE_CHECK TORTURE_WORK TORTURE_OPTIONS
find "$programs" -maxdepth 1 -name '*.c' >"$TORTURE_WORK/all"
find "$programs/ieee" "$programs/builtins" -maxdepth 1 -name '*.c' ! -name '*-lib.c' >>"$TORTURE_WORK/all"
# Each with the options that it asks for on all targets.
sort "$TORTURE_WORK/all" | awk -v k="$part" -v n="$parts" '
    NR % n == k % n {
        options = ""
        while ((getline line <$0) > 0)
            if (match(line, /{ *dg-(additional-)?options *{* *"[^"]*" *}* *}/)) {
                split(substr(line, RSTART, RLENGTH), quoted, "\"")
                options = options " " quoted[2]
            }
        close($0)
        print $0 ":" options
    }' >"$TORTURE_WORK/programs"

passed=0 failed=0 plain=0
run_set() {
    TORTURE_OPTIONS=$1
    : >"$TORTURE_WORK/results"
    xargs -d '\n' -P 2 -n 10 sh tests/plugin/torture.sh --some <"$TORTURE_WORK/programs"
    awk -v set="gcc-$gcc $1" '
        $1 == "OK" { ok++; checked += $3; assumed += substr($6, 2); unknown += $8 }
        $1 == "PLAIN" { plain++ }
        $1 == "NEW" { new++ }
        END { printf "%s: %d tests, %d plugin failures, %d of them plain failures too, %d new; %d calls checked (%d assumed), %d not\n",
              set, NR, plain + new, plain, new, checked, assumed, unknown }' "$TORTURE_WORK/results"
    sed -n -e 's/^NEW /  new failure: /p' -e 's/^PLAIN /  fails plain too: /p' "$TORTURE_WORK/results" | sort
    passed=$((passed + $(grep -c '^OK' "$TORTURE_WORK/results" || true)))
    failed=$((failed + $(grep -c '^NEW' "$TORTURE_WORK/results" || true)))
    plain=$((plain + $(grep -c '^PLAIN' "$TORTURE_WORK/results" || true)))
}
if [ -n "$only" ]; then
    run_set "$only"
else
    for set in -O0 -O2 '-O3 -g' '-O2 -flto'; do
        run_set "$set"
    done
fi
[ $plain -eq 0 ] || echo "skipped: $plain of the programs fail without the plugin too"
echo "$passed passed, $failed failed, $plain skipped"
[ $failed -eq 0 ]
