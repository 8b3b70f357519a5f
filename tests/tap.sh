# SPDX-License-Identifier: MIT
# TAP for test scripts. Sourced; makes the scratch folder $work, which goes when the script ends.
# shellcheck shell=sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Counts kept in a file are not lost in a subshell.
: >"$work/cases"

# check NAME COMMAND...: one test case; what a failing command printed becomes diagnostics.
check() {
    tap_name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok $(($(wc -l <"$work/cases") + 1)) - $tap_name"
    else
        echo "not ok $(($(wc -l <"$work/cases") + 1)) - $tap_name"
        tail -n 30 "$work/log" | sed 's/^/# /'
    fi
    echo >>"$work/cases"
}

# skip NAME REASON
skip() {
    echo "ok $(($(wc -l <"$work/cases") + 1)) - $1 # SKIP $2"
    echo >>"$work/cases"
}

finish() {
    echo "1..$(wc -l <"$work/cases")"
}
