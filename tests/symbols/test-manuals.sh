#!/bin/sh
# SPDX-License-Identifier: MIT
# test-manuals.sh HEADER PAGE...: mandoc warns of nothing, each function of HEADER has a page, and each page in
# section 3 says which library to link with. Prints TAP.
set -u
header=$1
shift
if output=$(mandoc -T lint -W warning "$@" 2>&1); then
    echo "ok 1 - mandoc has no warnings"
else
    echo "not ok 1 - mandoc has no warnings"
    printf '%s\n' "$output" | sed 's/^/# /'
fi
missing=
# shellcheck disable=SC2013 # a word a line
for function in $(sed -n 's/^[a-z].*[ *]\(sp_[a-z_]*\)(.*/\1/p' "$header"); do
    cat "$@" | grep -q "^\.Nm $function\( ,\)\{0,1\}$" || missing="$missing $function"
done
if [ -z "$missing" ]; then echo "ok 2 - each function has a page"; else echo "not ok 2 - no page for:$missing"; fi
without=
for page; do
    case $page in
    *.3) sed -n '/^\.Sh LIBRARY/{n;p;}' "$page" | grep -q '^\.Fl l' || without="$without $page" ;;
    esac
done
if [ -z "$without" ]; then echo "ok 3 - each function's page has its library"; else echo "not ok 3 - no LIBRARY in:$without"; fi
echo "1..3"
