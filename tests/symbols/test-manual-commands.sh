#!/bin/sh
# SPDX-License-Identifier: MIT
# test-manual-commands.sh GCC-VERSION PLUGIN SPWALK PAGE...: runs each command (.Dl) of the manual pages, one after the other, where
# the files that they name are at hand, and compiles each program in them. Prints TAP.
set -u
gcc=gcc-$1
plugin=$(realpath "$2")
spwalk=$(realpath "$3")
shift 3
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The .pc files as they are installed.
PKG_CONFIG_PATH=$(dirname "$spwalk")/../../meson-private
export PKG_CONFIG_PATH

# What the pages take for granted: a program of one's own, and some that are installed.
mkdir "$work/bin" "$work/debug" "$work/lists"
ln -s "$spwalk" "$work/bin/spwalk"
cat >"$work/prog.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static int twice(int x) { return 2 * x + rand(); }
int main(int argc, char **argv) { printf("%s: %d\n", argv[0], twice(argc)); return 0; }
END
$gcc -g -O1 -fplugin="$plugin" "$work/prog.c" -o "$work/program" || echo "Bail out! no program with words"
for name in wget git make; do
    $gcc -g "$work/prog.c" -o "$work/bin/$name"
done
cat >"$work/bin/flamegraph.pl" <<'END'
#!/bin/sh
cat "$1"
END
chmod +x "$work/bin/flamegraph.pl"
echo '# none' >"$work/known"
echo 0x1139 0x1142 >"$work/addresses"
libc=$(ldd "$work/program" | sed -n 's|.*libc\.so\.6 => \([^ ]*\) .*|\1|p')
printf '#%d  0x%016x  %s+0x%x\n' 0 0x555555555139 "$work/prog" 0x1139 1 0x7ffff7de71ca "$libc" 0x271ca >"$work/trace"
fresh() {
    $gcc -g -Wl,--build-id "$work/prog.c" -o "$work/prog"
}

number=0
report() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2: status $1"
        sed 's/^/# /' "$work/log"
    fi
}
for page; do
    fresh
    sed -n 's/^\.Dl \(\$ \)\{0,1\}//p' "$page" >"$work/commands"
    while read -r command; do
        (cd "$work" && PATH=$work/bin:$PATH sh -c "$command") >"$work/log" 2>&1 </dev/null
        report $? "$(basename "$page"): $command"
    done <"$work/commands"
    # A program is a literal display that includes a header.
    sed -n '/^\.Bd -literal/,/^\.Ed/{/^\.[BE]d/d;s/\\e/\\/g;p}' "$page" >"$work/example.c"
    if grep -q '^#include' "$work/example.c"; then
        $gcc -Wall -Wextra -Werror -I"$top/include" -c "$work/example.c" -o "$work/example.o" >"$work/log" 2>&1
        report $? "$(basename "$page"): its program compiles"
    fi
done
echo "1..$number"
