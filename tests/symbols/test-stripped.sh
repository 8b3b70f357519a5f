#!/bin/sh
# SPDX-License-Identifier: MIT
# test-stripped.sh PROGRAM SPWALK: a stripped program names its stack by a map, in a handler too. Prints TAP.
set -u
spwalk=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The copy is elsewhere, so that its run path leads nowhere.
LD_LIBRARY_PATH=$(ldd "$1" | sed -n 's|.* => \(.*\)/libspwalk.*|\1|p' | tr '\n' ':')
export LD_LIBRARY_PATH
cp "$1" "$work/whole"
cd "$work" || exit 1
strip -o program whole
"$spwalk" map whole -o program.spmap
objcopy --remove-section=.note.gnu.build-id whole anonymous
"$spwalk" map anonymous -o anonymous.spmap
printf 'int main(void) { return 0; }\n' >other.c
gcc -g -Wl,--build-id other.c -o other && "$spwalk" map other -o other.spmap

number=0
check() {
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        printf '%s\n' "found: $2" "expected: $3" | cat - output | sed 's/^/# /'
    fi
}
# The program's own functions on its stack, as printed by sp_print_backtrace_context, then as by sp_backtrace_symbols_fd.
names() {
    ./program "$@" >output
    sed -n -e 's/^#.*program+0x[0-9a-f]*  \([a-z]*\)+0x[0-9a-f]*$/\1/p' \
        -e 's/^.*program(\([a-z]*\)+0x[0-9a-f]*) \[0x[0-9a-f]*\]$/\1/p' -e 's/^refused: /&/p' -e '/ from /p' output | grep -v '^$' | tr '\n' ','
}
named=innermost,middle,main,innermost,middle,main,
check "without a map there are no names" "$(names)" "nothing from none,"
check "by its map there are, and nothing is allocated in the handler" "$(names program.spmap)" "${named}middle from map,"
check "a map given for a module by its name" "$(names program.spmap program)" "${named}middle from map,"
check "a map without a build-id, for a module" "$(names anonymous.spmap program)" "${named}middle from map,"
check "a map of another build-id names nothing" "$(names other.spmap)" "nothing from none,"
check "nor where it is given for the module" "$(names other.spmap program)" "nothing from none,"
check "a map without a build-id and without a module" "$(names anonymous.spmap)" \
    "refused: it has no build-id, and no module was given,"
check "no map" "$(names nowhere)" "refused: it cannot be opened,"
check "a text" "$(names other.c)" "refused: it is not a name map,"
head -c 100 program.spmap >short.spmap
check "a map that is cut short" "$(names short.spmap)" "refused: its size is not the one in its header: it is cut short or grown,"
echo "1..$number"
