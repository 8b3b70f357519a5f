#!/bin/sh
# SPDX-License-Identifier: MIT
# SQLite and Lua from their Debian sources: nearly all calling functions have a word, all words are right, and what the
# programs answer is what they answer without the plugin.
. "$(dirname "$0")/tap.sh"

top=$programs/../../..
# build PROGRAM OUT FLAG...
build() {
    CC=$gcc CXX=$gxx OBJECTS=${OBJECTS-} sh "$top/.ci/build-real.sh" "$@"
}
for package in sqlite3 lua5.4; do
    if ! sh "$top/.ci/debian-source.sh" $package >/dev/null 2>log; then
        echo "1..0 # SKIP $(tail -n 1 log)"
        exit 0
    fi
done

builds_alike() {
    rm -rf plain.o words.o report && mkdir plain.o words.o
    OBJECTS=$work/plain.o build "$1" "$work/plain" "$2" &&
        OBJECTS=$work/words.o build "$1" "$work/words" "$2" -fplugin="$plugin" \
            -fplugin-arg-spwalk-verbose="$work/report" || return
    [ "$1" = sqlite ] || return 0
    for kind in plain words; do
        $gcc "$2" -I"$top/build/sources/sqlite3-amalgamation" "$programs/sql.c" $kind.o/sqlite3.c.o -lm -o sql-$kind || return
    done
}

# At least 99 of 100 calling functions, by the plugin's own count over all files.
coverage() {
    awk -v program="$1 $2" '/calling functions covered/ {
            for (i = 1; i < NF; i++) if ($(i + 1) == "of" && $(i + 3) == "calling") { covered += $i; calling += $(i + 2) }
            for (i = 1; i < NF; i++) if ($i == "at" && $(i + 2) == "of") { at += $(i + 1); calls += $(i + 3) } }
        END { share = calling ? 100 * covered / calling : 0
            printf "%s: %d of %d calling functions covered (%.2f %%), a word at %d of %d calls\n",
                program, covered, calling, share, at, calls
            exit share < 99 }' report >sum
    status=$?
    # Shown in the test's log where it passes too.
    sed 's/^/# /' sum >&3
    return $status
}
exec 3>&1

# Of SQLite's benchmark all but the times, and its sum over all results.
speedtest() {
    for testset in main cte orm fp; do
        for kind in plain words; do
            ./$kind --verify --size 5 --testset $testset | sed 's/ *[0-9]*\.[0-9]*s$//' >$kind.out || return
        done
        cmp plain.out words.out || return
    done
    grep -q 'Verification Hash' words.out
}
battery() {
    ./sql-plain <"$programs/battery.sql" >plain.out && ./sql-words <"$programs/battery.sql" >words.out &&
        [ "$(wc -l <words.out)" -gt 50 ] && cmp plain.out words.out
}
script() {
    ./plain "$programs/script.lua" >plain.out && ./words "$programs/script.lua" >words.out &&
        [ "$(wc -l <words.out)" -gt 40 ] && cmp plain.out words.out
}

for level in -O0 -O2; do
    check "SQLite $level builds" builds_alike sqlite $level
    check "SQLite $level: coverage" coverage SQLite $level
    check "SQLite $level: words right in the machine code" "$check_words" words
    check "SQLite $level: speedtest1 answers the same" speedtest
    check "SQLite $level: SQL answers the same" battery
    check "Lua $level builds" builds_alike lua $level
    check "Lua $level: coverage" coverage Lua $level
    check "Lua $level: words right in the machine code" "$check_words" words
    check "Lua $level: a script answers the same" script
done
finish
