# SPDX-License-Identifier: MIT
# What headers declare, libraries export and manual pages describe is the same, both ways. Sourced by test-installed.sh.
# shellcheck shell=sh disable=SC2154

# exported LIBRARY: the names that others can bind to.
exported() {
    nm -D --defined-only --format=posix "$prefix/$libdir/$1" | awk '$2 != "A" { sub("@.*", "", $1); print $1 }' | sort -u
}

# same NAME-OF-A A NAME-OF-B B: files of sorted lines; prints the difference.
same() {
    comm -23 "$2" "$4" | sed "s|^|only $1: |" >"$work/difference"
    comm -13 "$2" "$4" | sed "s|^|only $3: |" >>"$work/difference"
    cat "$work/difference"
    [ -s "$2" ] && [ ! -s "$work/difference" ]
}

exports_what_is_declared() {
    declared "$2" >"$work/a" && exported "$1" >"$work/b" && same "declared in $2" "$work/a" "exported by $1" "$work/b"
}
check 'libspwalk.so exports what spwalk.h declares' exports_what_is_declared libspwalk.so spwalk.h
check 'libspwalk-symbols.so exports what spwalk_symbols.h declares' \
    exports_what_is_declared libspwalk-symbols.so spwalk_symbols.h

# libspwalk-leaks.so stands in front of the C and C++ libraries: what else it exports, they do.
leaks_exports() {
    declared spwalk_leaks.h >"$work/a" || return
    exported libspwalk-leaks.so >"$work/all"
    grep '^sp_' "$work/all" >"$work/b"
    same 'declared in spwalk_leaks.h' "$work/a" 'exported by libspwalk-leaks.so' "$work/b" || return
    for library in libc.so.6 libstdc++.so.6; do
        nm -D --defined-only --format=posix "$($CC -print-file-name=$library)" | sed 's/[@ ].*//'
    done | sort -u >"$work/theirs"
    grep -v '^sp_' "$work/all" | comm -23 - "$work/theirs" >"$work/difference"
    sed 's/^/in neither the header nor the C and C++ libraries: /' "$work/difference"
    [ ! -s "$work/difference" ]
}
check 'libspwalk-leaks.so exports what spwalk_leaks.h declares, and what it stands in front of' leaks_exports

execinfo_exports() {
    exported libspwalk-execinfo.so >"$work/b"
    printf '%s\n' backtrace backtrace_symbols backtrace_symbols_fd >"$work/a"
    same 'in execinfo.h' "$work/a" 'exported by libspwalk-execinfo.so' "$work/b"
}
check 'libspwalk-execinfo.so exports the functions of execinfo.h' execinfo_exports

exports_nothing() {
    exported libspwalk-imports.so >"$work/b"
    cat "$work/b"
    [ ! -s "$work/b" ]
}
check 'libspwalk-imports.so exports nothing' exports_nothing

# In a handler no call is to enter the dynamic linker.
binds_at_load() {
    for library in libspwalk.so libspwalk-symbols.so libspwalk-execinfo.so libspwalk-leaks.so libspwalk-imports.so; do
        readelf -dW "$prefix/$libdir/$library" | grep -q BIND_NOW && continue
        readelf -rW "$prefix/$libdir/$library" | grep JUMP_SLO | sed "s/^/$library: /"
    done >"$work/lazy"
    cat "$work/lazy"
    [ ! -s "$work/lazy" ]
}
check 'what is called in handlers is bound when it is loaded' binds_at_load

# What the archives define for others begins with sp_, too: they share a program's names.
archive_names() {
    for archive in libspwalk.a libspwalk-symbols.a; do
        nm --defined-only --extern-only --format=posix "$prefix/$libdir/$archive" | grep -v ':$' |
            awk '$2 != "U" && $1 !~ /^sp_/ { print; bad = 1 } END { exit bad }' || return
    done
}
check 'the archives take no name that does not begin with sp_' archive_names

# Who links with both gets one definition of a name that both have: it must be of a source that is a part of both.
shared_names() {
    for archive in libspwalk.a libspwalk-symbols.a; do
        nm -A --defined-only --extern-only "$prefix/$libdir/$archive" | sed 's/^.*:\([^:]*\):[0-9a-f]* . \(.*\)$/\2 \1/' |
            sort -u >"$work/$archive.names"
        [ -s "$work/$archive.names" ] || return
    done
    join "$work/libspwalk.a.names" "$work/libspwalk-symbols.a.names" | awk '$2 != $3 { print; bad = 1 } END { exit bad }'
}
check 'what both archives define is the same in both' shared_names

pages_describe_what_is_declared() {
    for header in spwalk.h spwalk_symbols.h spwalk_leaks.h; do
        declared $header || return
    done | sort -u >"$work/a"
    for page in "$prefix"/share/man/man3/*.3; do
        basename "$page" .3
    done | sort -u >"$work/b"
    same 'declared' "$work/a" 'a manual page' "$work/b"
}
check 'each public function has a page in section 3, and each page a function' pages_describe_what_is_declared

pages_name_what_they_are_called() {
    for page in "$prefix"/share/man/man3/*.3; do
        name=$(basename "$page" .3)
        if ! sed -n '/^\.Sh NAME/,/^\.Nd/p' "$page" | grep -qE "^\.Nm $name( ,)?$" || ! grep -qE "^\.F[no] $name( |$)" "$page"
        then
            echo "$page: its NAME and SYNOPSIS do not have $name"
            return 1
        fi
    done
}
check 'each page in section 3 names and shows its function' pages_name_what_they_are_called

each_command_has_a_page() {
    spwalk --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/spwalk-\1/p' | sort >"$work/a"
    (cd "$prefix/share/man/man1" && ls) | sed -n 's/^\(spwalk-.*\)\.1$/\1/p' | sort >"$work/b"
    same 'in spwalk --help' "$work/a" 'a manual page' "$work/b" || return
    while read -r page; do
        grep -q "^\.Xr $page 1" "$prefix/share/man/man1/spwalk.1" || {
            echo "spwalk(1) does not refer to $page(1)"
            return 1
        }
    done <"$work/a"
}
check 'each command has a page in section 1, which spwalk(1) refers to' each_command_has_a_page

pages() {
    find "$prefix/share/man" -type f
}

linted() {
    pages | xargs mandoc -T lint -W warning
}
check 'mandoc warns of nothing in any page' linted

formatted() {
    : >"$work/warnings"
    pages | while read -r page; do
        MANWIDTH=120 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>>"$work/warnings" >/dev/null
    done
    cat "$work/warnings"
    [ ! -s "$work/warnings" ]
}
if command -v man >/dev/null && command -v groff >/dev/null; then
    check 'groff warns of nothing in any page' formatted
else
    skip 'groff warns of nothing in any page' 'man-db or groff is not installed'
fi

references_lead_somewhere() {
    pages | xargs grep -hoE '^\.Xr s?p?[a-z_]*(sp_|spwalk|spmap)[a-z_-]* [0-9]' | sort -u | while read -r _ name section; do
        test -e "$prefix/share/man/man$section/$name.$section" || {
            echo "no page $name($section)"
            exit 1
        }
    done
}
check 'references to pages of the project lead somewhere' references_lead_somewhere
