/* SPDX-License-Identifier: MIT */
/*
 * Case 12: the nearest entry of the table ends before the pc; and a p_vaddr that is not the p_offset, as lld lays
 * segments. Linked by each linker.
 */
#include "tap.h"
#include "walks.h"

#include <stddef.h>

/* `before` has CFI with a CFA that would be wrong in `bare`, which has none; the code of `bare` tells. */
__asm__(".text\n"
        ".p2align 4\n"
        "before: .cfi_startproc\n .cfi_def_cfa_offset 96\n nop\n ret\n .cfi_endproc\n"
        ".type bare, @function\n"
        "bare: nop\n pushq %rbx\n nop\n subq $32, %rsp\n call *%rdi\n nop\n addq $32, %rsp\n popq %rbx\n ret\n"
        /* Here the code does not tell. */
        ".type unknown, @function\n"
        "unknown: nop\n leaq 1f(%rip), %rax\n jmp *%rax\n"
        "1: ret\n"
        "behind: .cfi_startproc\n nop\n .cfi_endproc\n");
void bare(void (*f)(void)) __asm__("bare");
void unknown(void) __asm__("unknown");

static void nothing(void)
{
    __asm__ volatile("" ::: "memory");
}

static void call_bare(void *unused)
{
    (void)unused;
    bare(nothing);
}

static void call_unknown(void *unused)
{
    (void)unused;
    unknown();
}

static void past_the_end(void)
{
    struct tally tally = walk_each_step(call_bare, NULL);
    EXPECT(tally.walks > 12 && tally.wrong == 0 && tally.marked == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong,
           tally.walks, tally.marked);
}

static void where_nothing_tells(void)
{
    struct tally tally = walk_each_step(call_unknown, NULL);
    EXPECT(tally.wrong == 0 && tally.marked >= 1 && tally.marked <= 3, "%ld of %ld walks wrong, %ld marked",
           tally.wrong, tally.walks, tally.marked);
}

int main(void)
{
    tap_case("code behind the end of the nearest entry", past_the_end);
    tap_case("the same where the code does not tell: marked", where_nothing_tells);
    return tap_end();
}
