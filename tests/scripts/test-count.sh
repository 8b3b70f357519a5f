#!/bin/sh
# SPDX-License-Identifier: MIT
# What tests/count.py makes of each kind of test output. Prints TAP.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0

# expect TITLE SUMMARY STATUS: counts what $work/results holds, then empties it.
expect() {
    number=$((number + 1))
    status=0
    python3 "$here/../count.py" "$work/results" >"$work/out" || status=$?
    if [ "$(tail -n 1 "$work/out")" = "$2" ] && [ "$status" = "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        sed 's/^/# /' "$work/out"
        echo "# status $status, expected: $2, status $3"
    fi
    rm -rf "$work/results"
    mkdir "$work/results"
}

# meson_test RESULT STATUS STDOUT: one line of meson's log.
meson_test() {
    printf '{"name": "t", "result": "%s", "returncode": %s, "stdout": "%s"}\n' "$1" "$2" "$3" \
        >>"$work/results/testlog.json"
}

# part STATUS OUTPUT
part() {
    echo "$1" >"$work/results/p.status"
    printf '%b\n' "$2" >"$work/results/p.part"
}

mkdir "$work/results"

meson_test OK 0 ''
meson_test FAIL 3 ''
meson_test SKIP 77 'no such compiler here\n'
expect 'a plain test is one case' '1 passed, 1 failed, 1 skipped' 1

meson_test SKIP 77 'first\nno such compiler here\n'
expect 'a skip is no failure' '0 passed, 0 failed, 1 skipped' 0

meson_test TIMEOUT -15 'ok 1 - a\n1..1\n'
expect 'a timeout fails' '0 passed, 1 failed, 0 skipped' 1

meson_test OK 0 '1..3\nok 1 - a\nok 2 - b # SKIP because\nnot ok 3 - c # TODO later\n'
expect 'TAP cases count one by one' '2 passed, 0 failed, 1 skipped' 0

meson_test OK 0 "ok 1 - awk '/^#0 /' a # b\\nnot ok 2 - #3 # TODO later\\nok 3 - c# SKIP d\\n1..3\\n"
expect 'a name may have a # in it' '2 passed, 0 failed, 1 skipped' 0

meson_test FAIL 1 'ok 1 - a\nnot ok 2 - b\n1..2\n'
expect 'a failing TAP case is one failure, its status no other' '1 passed, 1 failed, 0 skipped' 1

meson_test FAIL 0 '1..3\nok 1 - a\nok 2 - b\n'
expect 'TAP short of its plan fails' '2 passed, 1 failed, 0 skipped' 1

meson_test FAIL -11 '1..1\nok 1 - a\n'
expect 'a crash after the last TAP case fails' '1 passed, 1 failed, 0 skipped' 1

meson_test FAIL 1 '1..2\nok 1 - a\nBail out! no stack\n'
expect 'TAP that bails out fails' '1 passed, 1 failed, 0 skipped' 1

meson_test OK 0 'Running suite(s): a\n100%: Checks: 12, Failures: 0, Errors: 0\n'
expect 'Check counts its cases' '12 passed, 0 failed, 0 skipped' 0

meson_test FAIL 1 'Running suite(s): a\n80%: Checks: 10, Failures: 1, Errors: 1\nx.c:3:F:c:t:0: no\nx.c:9:E:c:u:0: dead\n'
expect 'Check counts failures and errors' '8 passed, 2 failed, 0 skipped' 1

meson_test FAIL 1 'Running suite(s): a\n100%: Checks: 1, Failures: 0, Errors: 0\n'
expect 'a failure after Check passed fails' '1 passed, 1 failed, 0 skipped' 1

part 0 'blah\nskipped: no gcc-11\n1650 passed, 0 failed, 1 skipped'
expect 'a part gives its own counts' '1650 passed, 0 failed, 1 skipped' 0

part 1 '10 passed, 2 failed, 0 skipped'
expect 'a failing part fails' '10 passed, 2 failed, 0 skipped' 1

part 2 'no such thing'
expect 'a part that breaks is a failure' '0 passed, 1 failed, 0 skipped' 1

part 77 'no source'
expect 'a part that can not run is a skip' '0 passed, 0 failed, 1 skipped' 0

echo "1..$number"
