# SPDX-License-Identifier: MIT
# bash completion. Sourced by test-installed.sh.
# shellcheck shell=sh disable=SC2154

# completes LINE EXPECTED...: what the words of LINE, the last one incomplete, are completed to, sorted.
completes() {
    line=$1
    shift
    bash -c '
        . "$1" || exit
        read -ra COMP_WORDS <<<"$2"
        [[ $2 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _spwalk spwalk "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}" | LC_ALL=C sort
    ' bash "$prefix/share/bash-completion/completions/spwalk" "$line" >"$work/completed"
    printf '%s\n' "$@" | diff - "$work/completed"
}
check 'completion of commands' completes 'spwalk ' --help --version frames imports leaks map symbolize
check 'completion of a command' completes 'spwalk sy' symbolize
check 'completion of options' completes 'spwalk map --' --build-id= --debug-path= --help --lines --output=
check 'completion of an option' completes 'spwalk leaks --fr' --frames= --free-stacks
check "completion of the program's name" completes 'spwalk leaks -- spwal' spwalk
check "the program's own options are its own" completes 'spwalk leaks -- ls --' ''

each_option_is_in_its_page() {
    for command in frames imports leaks map symbolize; do
        spwalk $command --help >"$work/help" || return
        for option in $(grep -oE -e '(^|[ ,])--[a-z][a-z-]*' "$work/help" | tr -d ' ,-' | sort -u); do
            # That of the command itself is in spwalk(1).
            [ "$option" != help ] || continue
            tr -d '\\-' <"$source/man/spwalk-$command.1" | grep -q "Fl $option\>" || {
                echo "spwalk-$command(1) does not tell of $option"
                return 1
            }
        done
    done
}
check 'each option is in its manual page' each_option_is_in_its_page
