# SPDX-License-Identifier: MIT
# What is installed, and where. Sourced by test-installed.sh.
# shellcheck shell=sh disable=SC2154

# A staged installation of the other build has the same files below its own prefix, and the plugins where each GCC looks.
same_files_staged() {
    meson install -C "$build" --no-rebuild --destdir "$work/staged" || return
    staged_prefix=$(meson introspect "$build" --buildoptions |
        python3 -c 'import json, sys; print(*[o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"])')
    (cd "$work/staged$staged_prefix" && find . ! -type d ! -path '*/plugin/*' | sort) >"$work/staged.list"
    (cd "$prefix" && find . ! -type d ! -path '*/plugin/*' | sort) >"$work/prefix.list"
    diff "$work/staged.list" "$work/prefix.list"
}
check 'a staged installation (DESTDIR) has the same files' same_files_staged

plugins_by_name() {
    for version in 11 12; do
        folder=$(gcc-$version -print-file-name=plugin)
        test -f "$work/staged$folder/spwalk.so" && test -f "$prefix/$libdir/spwalk/x86_64-linux-gnu/$version/plugin/spwalk.so" ||
            return
    done
}
check "the plugins are in each GCC's own folder, and below another prefix" plugins_by_name

nothing_else_staged() {
    find "$work/staged" ! -type d ! -path "$work/staged$staged_prefix/*" ! -path '*/plugin/spwalk.so' >"$work/others"
    cat "$work/others"
    [ ! -s "$work/others" ]
}
check 'nothing is installed outside the prefix but the plugins' nothing_else_staged

# soname LIBRARY NAME NODE
versioned() {
    readelf -dW "$prefix/$libdir/$1" | grep -F "Library soname: [$2]" && nm -D --defined-only --with-symbol-versions \
        "$prefix/$libdir/$1" | awk -v node="@@$3" '$2 != "A" && substr($3, length($3) - length(node) + 1) != node { print; bad = 1 }
            END { exit bad }'
}
check 'libspwalk.so has its soname and versions' versioned libspwalk.so libspwalk.so.0 SPWALK_0
check 'libspwalk-symbols.so has its soname and versions' versioned libspwalk-symbols.so libspwalk-symbols.so.0 SPWALK_SYMBOLS_0

needs_only() {
    library=$1
    shift
    readelf -dW "$prefix/$libdir/$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort >"$work/needed"
    printf '%s\n' "$@" | diff - "$work/needed"
}
check 'the runtime needs libc alone (and its loader)' needs_only libspwalk.so ld-linux-x86-64.so.2 libc.so.6

relocatable() {
    # Moved as a whole, all is found from its own place.
    cp -a "$prefix" "$work/moved" || return
    ! grep -rlF "$prefix" "$work/moved" --include='*.cmake' --include=spwalk || return
    printf 'int main(void) { return 0; }\n' >"$work/nothing.c"
    $CC "$work/nothing.c" -o "$work/nothing" &&
        LD_LIBRARY_PATH=$work/moved/$libdir "$work/moved/bin/spwalk" leaks -- "$work/nothing" &&
        LD_LIBRARY_PATH=$work/moved/$libdir "$work/moved/bin/spwalk" imports -- "$work/nothing"
}
check 'it can be moved' relocatable

check 'the licences are installed' test -s "$prefix/share/licenses/spwalk/MIT" -a -s "$prefix/share/licenses/spwalk/GPL-3"
