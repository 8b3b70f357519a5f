#!/bin/sh
# SPDX-License-Identifier: MIT
# test-readme.sh README GCC PLUGIN INCLUDE WALK SYMBOLS: the README's code compiles as pasted and prints its own stack; its
# commands and files exist. WALK and SYMBOLS are the folders of the two libraries. Prints TAP.
set -eu
readme=$1
root=$(cd "$(dirname "$readme")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0

report() {
    number=$((number + 1))
    if [ "$2" = 0 ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        sed 's/^/# /' "$work/log"
    fi
}

awk '/^```/ { inside = $0 == "```c"; next } inside' "$readme" >"$work/stack.c"
lines=$(grep -c . "$work/stack.c")
[ "$lines" -le 10 ] && status=0 || status=1
echo "$lines lines" >"$work/log"
report 'the code is ten lines' "$status"

# The command is the README's own, but for where the installed parts are.
command=$(sed -n 's/^ \{4\}\(gcc .* stack\.c .*\)/\1/p' "$readme" | sed -e "s|^gcc|$2|" \
    -e "s|\\\$(pkg-config --cflags spwalk-plugin)|-fplugin=$3|" \
    -e "s|\\\$(pkg-config --cflags --libs spwalk spwalk-symbols)|-I$4 -L$5 -L$6 -lspwalk -lspwalk-symbols|")
(cd "$work" && sh -c "$command -Wall -Wextra -Werror") >"$work/log" 2>&1 && status=0 || status=$?
report 'the code compiles as the README says' "$status"

LD_LIBRARY_PATH=$5:$6 "$work/a.out" >"$work/log" 2>&1 && status=0 || status=$?
report 'it runs' "$status"
{ sed -n 1p "$work/log" | grep -q 'inner+0x' && sed -n 2p "$work/log" | grep -q 'main+0x'; } && status=0 || status=1
report 'it prints its own stack by name' "$status"

# names PATTERN: the first group of each match in the README.
names() {
    sed -n "s|$1|\1|p" "$readme"
}
{
    names '^ \{4\}sh \([a-z]*/run\)$'
    names '.*!\[[^]]*\](\([^)]*\)).*'
} >"$work/files"
while read -r file; do
    [ -s "$root/$file" ] && status=0 || status=1
    echo "$file" >"$work/log"
    report "$file exists" "$status"
done <"$work/files"
echo "1..$number"
