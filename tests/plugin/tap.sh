# SPDX-License-Identifier: MIT
# TAP for the test scripts of this folder, which are called with GCC's version, the plugin and check-words. Sourced.
# shellcheck shell=sh

gcc=gcc-$1 gxx=g++-$1 gfortran=gfortran-$1
plugin=$(realpath "$2")
check_words=$(realpath "$3")
programs=$(cd "$(dirname "$0")" && pwd)/programs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
# A file of test cases is a subshell's loop away from losing its counts; files keep them.
: >cases

# check NAME COMMAND...: one test case; what a failing command printed becomes diagnostics.
check() {
    name=$1
    shift
    if "$@" >log 2>&1; then
        echo "ok $(($(wc -l <cases) + 1)) - $name"
    else
        echo "not ok $(($(wc -l <cases) + 1)) - $name"
        head -n 20 log | sed 's/^/# /'
    fi
    echo >>cases
}

# skip NAME REASON
skip() {
    echo "ok $(($(wc -l <cases) + 1)) - $1 # SKIP $2"
    echo >>cases
}

# stores FUNCTION FILE: how many words the function of an assembly file stores
stores() {
    sed -n "/^$1:/,/\\.size[[:space:]]*$1,/p" "$2" |
        grep -cE '(pushq[[:space:]]+\$-151[0-9]{7}|movq[[:space:]]+\$-151[0-9]{7}, \(%rsp\))$'
}

finish() {
    echo "1..$(wc -l <cases)"
}
