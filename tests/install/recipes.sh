# SPDX-License-Identifier: MIT
# The recipes of spwalk-plugin(7), as they stand there, on projects that know nothing of spwalk. Sourced by
# test-installed.sh.
# shellcheck shell=sh disable=SC2154

# recipe TITLE: the commands below TITLE in the page.
recipe() {
    awk -v title="$1:" '$0 == title { found = 1 } found && /^\.Ed/ { exit } found && inside { print }
        found && /^\.Bd/ { inside = 1 }' "$source/man/spwalk-plugin.7" | sed 's/^\\&//'
}

# instruments TITLE FOLDER PROGRAM: the project's own files stay as they are, and its code has words that are right.
instruments() (
    cp -r "$here/recipes" "$work/recipe-$2" && cd "$work/recipe-$2" || return
    mv "$2"/* . && cp -r . "$work/recipe-$2-before" || return
    [ "$2" != autotools ] || autoreconf -i || return
    recipe "$1" >"$work/commands"
    [ -s "$work/commands" ] || return
    cat "$work/commands"
    sh -e "$work/commands" || return
    [ "$("$3")" = '1 2 3' ] || return
    spwalk frames "$3" >"$work/frames" || return
    grep -q '\<main\>' "$work/frames" && grep -q part_compare "$work/frames" && spwalk frames --check "$3" || return
    (cd "$work/recipe-$2-before" && find . -type f) | while read -r file; do
        cmp "$file" "$work/recipe-$2-before/$file" || exit
    done
)
check 'recipe: a Meson project' instruments Meson meson ./build/program
check 'recipe: a CMake project' instruments CMake cmake ./build/program
check 'recipe: an autotools project' instruments Autotools autotools ./program
check 'recipe: a makefile' instruments 'A makefile' make ./program
