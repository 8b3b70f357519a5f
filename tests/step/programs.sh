#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the programs at one level and steps each; TAP, a case for each program.
#
#   programs.sh STEP ORACLE PLUGIN FOLDER COMPILE-OPTIONS...
#
# STEP is the runner, ORACLE the library to preload, PLUGIN the GCC plugin or "none", FOLDER where to build.
# A program's own needs stand in a comment of its source: `step: cflags=... libs=... options=...`, options being STEP's.
# STEP_PROGRAMS names the programs to run, where not all, STEP_EXCEPT those not to run; STEP_TALLY a file that collects the counts.
set -u
step=$1 oracle=$2 plugin=$3 folder=$4
shift 4
sources=$(dirname "$0")/programs
[ "$plugin" = none ] || set -- "$@" "-fplugin=$plugin" -D__SPWALK__
mkdir -p "$folder"

# The value of one word of the source's step comment, which reaches to the next word.
need() {
    sed -n 's,^/[/*] step: *\(.*[^ */]\).*,\1,p' "$1" | tr ' ' '\n' | awk -v key="$2" '
        /^(cflags|libs|options)=/ { take = index($0, key "=") == 1; sub(/^[a-z]*=/, "") }
        take' | tr '\n' ' '
}

flags=$*
programs=${STEP_PROGRAMS:-$(cd "$sources" && ls ./*.c ./*.cc | sed 's,^\./,,; s,\.cc*$,,')}
number=0
for name in $programs; do
    case " ${STEP_EXCEPT-} " in *" $name "*) continue ;; esac
    number=$((number + 1))
    source=$sources/$name.c
    [ -f "$source" ] || source=$sources/$name.cc
    case $source in
    *.cc) compiler="${CXX:-g++} -std=gnu++17" ;;
    *) compiler="${CC:-gcc} -std=gnu11" ;;
    esac
    # shellcheck disable=SC2046,SC2086
    if ! $compiler -g1 -w $flags $(need "$source" cflags) -o "$folder/$name" "$source" $(need "$source" libs) \
        >"$folder/$name.log" 2>&1; then
        echo "not ok $number - $name (does not compile)"
        sed 's/^/# /' "$folder/$name.log"
        continue
    fi
    # shellcheck disable=SC2046,SC2086
    if "$step" --quiet --listed "$sources/../listed.txt" --preload "$oracle" --title "$name" ${STEP_TALLY:+--tally "$STEP_TALLY"} ${STEP_OPTIONS-} \
        $(need "$source" options) -- "$folder/$name" >"$folder/$name.log" 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' "$folder/$name.log"
    fi
done
echo "1..$number"
