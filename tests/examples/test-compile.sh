#!/bin/sh
# SPDX-License-Identifier: MIT
# test-compile.sh BUILD SOURCE...: each example compiles by the commands in its own first comment, against an installed
# spwalk. Prints TAP.
set -eu
build=$(cd "$1" && pwd)
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

meson install -C "$build" --no-rebuild --quiet --destdir "$work/root" >"$work/install.log" 2>&1 || {
    cat "$work/install.log"
    echo 'Bail out! the installation failed'
    exit 1
}
pc=$(dirname "$(find "$work/root" -name spwalk.pc)")
plugin=$(find "$work/root" -path '*/12/*' -name spwalk.so -o -path '*gcc-12*' -name spwalk.so | head -n 1)

# As pkg-config would answer were the folder the system's root; GCC looks for a plugin by its name in its own folder alone.
cat >"$work/pkg-config" <<END
#!/bin/sh
flags=\$(PKG_CONFIG_SYSROOT_DIR='$work/root' PKG_CONFIG_PATH='$pc' $(command -v pkg-config) "\$@") || exit
echo "\$flags" | sed 's|-fplugin=spwalk|-fplugin=$plugin|'
END
chmod +x "$work/pkg-config"

number=0
for source; do
    cp "$(dirname "$source")"/*.[ch] "$work"
    # The lines of the first comment below the licence that are a command, each with its continuations.
    sed -n '1d;/\*\//q;s/^ \* \{5,\}//p' "$source" | sed -e ':join' -e '/\\$/{N;s/\\\n */ /;b join' -e '}' |
        grep '^cc ' >"$work/commands" || true
    while read -r command; do
        number=$((number + 1))
        title="$(basename "$source"): $command"
        if (cd "$work" && PATH=$work:$PATH sh -c "$command") >"$work/log" 2>&1; then
            echo "ok $number - $title"
        else
            echo "not ok $number - $title"
            sed 's/^/# /' "$work/log"
        fi
    done <"$work/commands"
    if [ ! -s "$work/commands" ]; then
        number=$((number + 1))
        echo "not ok $number - $(basename "$source") does not say how it is compiled"
    fi
done
echo "1..$number"
