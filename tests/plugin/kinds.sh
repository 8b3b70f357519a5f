#!/bin/sh
# SPDX-License-Identifier: MIT
# Each kind of function that has no word: the report says why, no word is stored, no record is made.
. "$(dirname "$0")/tap.sh"

cat >kinds.c <<'END'
int use(void *), eight(int, int, int, int, int, int, int, int);
struct frame;
int ordinary(int n) { return use(&n) + 1; }
int leaf(int n) { return n * 3; }
int calls_at_its_end(int n) { return leaf(n) + 1 > 0 ? use(&use) : 0; }
__attribute__((spwalk_skip)) int skipped(int n) { return use(&n) + 1; }
__attribute__((naked)) void naked(void) { __asm__("call use; ret"); }
void eh_return(long offset, void *handler) { use(handler); __builtin_eh_return(offset, handler); }
__attribute__((interrupt)) void interrupt(struct frame *frame) { use(frame); }
__attribute__((ms_abi)) int ms_abi(int n) { return use(&n) + 1; }
int dynamic(int n) { return use(__builtin_alloca(n)) + 1; }
int variable(int n) { char text[n]; return use(text) + 1; }
int realigned(void) { _Alignas(64) int n; return use(&n) + 1; }
int too_long(void) { char text[600000]; return use(text) + 1; }
int longest(void) { char text[524256]; return use(text) + 1; }
int stack_arguments(int n) { n += use(&n); return eight(n, 1, 2, 3, 4, 5, 6, 7) + 1; }
END

options="-O2 -mgeneral-regs-only -w"
# shellcheck disable=SC2086 # a list of options
$gcc $options -fplugin="$plugin" -fplugin-arg-spwalk-verbose=report -S kinds.c -o kinds.s 2>errors
# shellcheck disable=SC2086
$gcc $options -maccumulate-outgoing-args -fplugin="$plugin" -fplugin-arg-spwalk-verbose=report-accumulate -S kinds.c \
    -o /dev/null 2>>errors

check "kinds.c compiles without a message" test ! -s errors

# says FUNCTION TEXT [REPORT]: the report's line for the function ends with the text, and only a covered one has a store.
says() {
    grep -qE "^spwalk: kinds\.c:[0-9]+: $1: $2\$" "${3-report}" || {
        grep " $1:" "${3-report}"
        return 1
    }
    [ -z "${3-}" ] || return 0
    case $2 in
    covered*) [ "$(stores "$1" kinds.s)" -eq 1 ] ;;
    *) [ "$(stores "$1" kinds.s)" -eq 0 ] ;;
    esac
}
check "leaf" says leaf "no word needed, makes no call"
check "tail calls only" says calls_at_its_end "no word needed, makes no call"
check "the attribute spwalk_skip" says skipped "not covered, has the attribute spwalk_skip"
check "naked" says naked "no word needed, is naked: it has no prologue"
check "__builtin_eh_return" says eh_return "not covered, uses __builtin_eh_return: .*"
check "interrupt handler" says interrupt "not covered, is an interrupt handler: .*"
check "Microsoft ABI" says ms_abi "not covered, has the Microsoft ABI: .*"
check "alloca" says dynamic "not covered, uses alloca or a variable-length array: .*"
check "variable-length array" says variable "not covered, uses alloca or a variable-length array: .*"
check "realigned stack" says realigned "not covered, realigns its stack: .*"
check "frame of 600,000 bytes" says too_long "not covered, has a frame of 512 KiB or more"
check "the longest frame" says longest "covered, length 524280, rbp slot 0, word at 1 of 1 calls"
check "arguments on the stack" says stack_arguments "covered, length [0-9]+, rbp slot [01], word at 1 of 2 calls"
check "arguments kept at the frame's end" says stack_arguments "not covered, keeps outgoing arguments .*" \
    report-accumulate
check "an ordinary function" says ordinary "covered, length 40, rbp slot 0, word at 1 of 1 calls"
check "the sum" grep -qxE "spwalk: kinds\.c: 3 of 11 calling functions covered \(27\.27 %\), word at 3 of 12 calls, 3 functions call nothing" \
    report

records() {
    grep -cE '^[[:space:]]*\.long[[:space:]]*\.L[0-9]+-\., ' kinds.s
}
# ordinary; a break, since between it and longest there are calls; longest; and stack_arguments before and after its call
# with arguments on the stack, which is a break too.
breaks() {
    grep -cE '^[[:space:]]*\.long[[:space:]]*\.L([0-9]+)-\., \.L\1-\.L\1, ' kinds.s
}
check "four records and two breaks" test "$(records) $(breaks)" = "6 2"

# Between these three is a function that calls nothing, and one whose assembly may.
cat >breaks.c <<'END'
int use(void *);
int first(int n) { return use(&n) + 1; }
int leaf(int n) { return n * 3; }
int second(int n) { return use(&n) + 1; }
void assembly(void) { __asm__("call use"); }
int third(int n) { return use(&n) + 1; }
END
# shellcheck disable=SC2086
$gcc $options -fplugin="$plugin" -S breaks.c -o kinds.s
check "a break where assembly may call" test "$(records) $(breaks)" = "4 1"

# At -O0 assembly of the top level keeps its place.
cat >order.c <<'END'
int use(void *);
int first(int n) { return use(&n) + 1; }
__asm__("between: call use; ret");
int second(int n) { return use(&n) + 1; }
END
$gcc -O0 -fplugin="$plugin" -S order.c -o kinds.s
check "a break where assembly of the top level may call" test "$(records) $(breaks)" = "3 1"

cat >attribute.c <<'END'
int variable __attribute__((spwalk_skip));
END
warns() {
    $gcc -fplugin="$plugin" -c attribute.c 2>&1 | grep "attribute applies only to functions"
}
check "spwalk_skip on a variable: a warning" warns
finish
