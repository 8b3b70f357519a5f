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

# shellcheck disable=SC2086 # lists of options
with_plugin() {
    if ! timeout 300 $build -fplugin="$TORTURE_PLUGIN" $files -o "$work/words" -lm >"$work/log" 2>&1; then
        echo "does not compile: $(head -n 1 "$work/log")"
    elif ! timeout 60 "$work/words" >"$work/log" 2>&1 </dev/null &&
        ! timeout 600 "$work/words" >"$work/log" 2>&1 </dev/null; then
        echo "does not run"
    elif ! "$TORTURE_CHECK" "$work/words" >"$work/log" 2>&1; then
        echo "has wrong words: $(head -n 1 "$work/log")"
    else
        return 0
    fi
    return 1
}

# Only asked where it fails with the plugin: half of the time is saved.
# shellcheck disable=SC2086 # lists of options
passes_plain() {
    timeout 300 $build $files -o "$work/plain" -lm >"$work/log" 2>&1 && timeout 60 "$work/plain" >"$work/log" 2>&1 </dev/null
}

# One program: "OK", "PLAIN" (fails, plain too) or "NEW" (fails with the plugin only), with the name and the reason.
one() {
    source=$1 name=$(basename "$1" .c) work=$(mktemp -d "$TORTURE_WORK/one.XXXXXX")
    files=$source
    case $source in
    */builtins/*) files="$source ${source%.c}-lib.c $(dirname "$source")/lib/main.c" ;;
    */ieee/*) name=ieee/$name ;;
    esac
    # The options that a test asks for on all targets.
    extra=$(sed -n 's/.*{ *dg-\(additional-\)\{0,1\}options *{* *"\([^"]*\)" *}* *}.*/\2/p' "$source" | tr '\n' ' ')
    build="$TORTURE_GCC $TORTURE_OPTIONS $extra -w"
    if fault=$(with_plugin); then
        result="OK $name $(sed -n 's/.*, \([0-9]*\) calls checked (\([0-9]*\) assumed), \([0-9]*\) not,.*/\1 \2 \3/p' "$work/log")"
    elif passes_plain; then
        result="NEW $name $fault"
    else
        result="PLAIN $name $fault"
    fi
    # One write, so that the lines of two jobs stay whole.
    printf '%s\n' "$result" >>"$TORTURE_WORK/results"
    rm -rf "$work"
}
if [ "${1-}" = --one ]; then
    one "$2"
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
sort "$TORTURE_WORK/all" | awk -v k="$part" -v n="$parts" 'NR % n == k % n' >"$TORTURE_WORK/programs"

passed=0 failed=0 plain=0
run_set() {
    TORTURE_OPTIONS=$1
    : >"$TORTURE_WORK/results"
    xargs -P 2 -n 1 sh tests/plugin/torture.sh --one <"$TORTURE_WORK/programs"
    awk -v set="gcc-$gcc $1" '
        $1 == "OK" { ok++; checked += $3; assumed += $4; unknown += $5 }
        $1 == "PLAIN" { plain++ }
        $1 == "NEW" { new++ }
        END { printf "%s: %d tests, %d plugin failures, %d of them plain failures too, %d new; %d calls checked (%d assumed), %d not\n",
              set, NR, plain + new, plain, new, checked, assumed, unknown }' "$TORTURE_WORK/results"
    sed -n 's/^NEW /  new failure: /p' "$TORTURE_WORK/results" | sort
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
