/* SPDX-License-Identifier: MIT */
/* Case 1: a signal on a function's first instruction, where a look-up at pc-1 finds the function before it. */
#include "tap.h"
#include "walks.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

/* Each is preceded by code with another CFA: in the same CFI entry or another, without any, or at a section's start. */
__asm__(".text\n"
        ".p2align 4\n"
        "before: .cfi_startproc\n .cfi_def_cfa_offset 96\n nop\n .cfi_endproc\n"
        ".type after_frame, @function\n"
        "after_frame: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n"

        "epilogue: .cfi_startproc\n subq $40, %rsp\n .cfi_adjust_cfa_offset 40\n addq $40, %rsp\n"
        " .cfi_adjust_cfa_offset -40\n ret\n .cfi_endproc\n"
        ".type after_return, @function\n"
        "after_return: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n"

        "bare: nop\n"
        ".type after_bare, @function\n"
        "after_bare: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n"

        /* The call that is its last instruction never returns; the address after it is the next function's first. */
        "calls_last: .cfi_startproc\n subq $200, %rsp\n .cfi_adjust_cfa_offset 200\n call abort\n .cfi_endproc\n"
        ".type after_call, @function\n"
        "after_call: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n"

        ".section .text.alone,\"ax\",@progbits\n"
        ".type alone, @function\n"
        "alone: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n"
        ".text\n");
void after_frame(void) __asm__("after_frame");
void after_return(void) __asm__("after_return");
void after_bare(void) __asm__("after_bare");
void after_call(void) __asm__("after_call");
void alone(void) __asm__("alone");

static struct walk from_context, from_handler;
static int through;

static void on_illegal(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    ucontext_t *context = data;
    from_context.n = sp_walk(data, from_context.frames, WALK_MOST, &from_context.end);
    from_handler.n = sp_walk(NULL, from_handler.frames, WALK_MOST, &from_handler.end);
    void *pcs[WALK_MOST];
    through = sp_backtrace(pcs, WALK_MOST);
    context->uc_mcontext.gregs[REG_RIP] += 2;
}

static NOINLINE void call(void (*f)(void), int flags)
{
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    handle(SIGILL, on_illegal, flags);
    /* Without memory, with it, from it. */
    for (int i = 0; i < 4; i++) {
        f();
        const struct sp_frame *frames = from_context.frames;
        EXPECT(from_context.end == SP_END_OUTERMOST, "end: %s", sp_end_name(from_context.end));
        EXPECT(frames[0].pc == (uintptr_t)f && frames[0].interrupted && frames[0].size == 8,
               "frame 0: pc %#lx, size %u", (unsigned long)frames[0].pc, frames[0].size);
        EXPECT(from_context.n == here.n + 1 && walk_ends_with(&from_context, &here, 1), "not the callers'");
        EXPECT(frames[1].sp == here.frames[0].sp && !frames[1].interrupted, "the caller's frame is not where it is");
        EXPECT(from_handler.end == SP_END_OUTERMOST && walk_ends_with(&from_handler, &from_context, 0),
               "not the same through the signal frame");
        int signal = from_handler.n - from_context.n - 1;
        EXPECT(signal >= 0 && from_handler.frames[signal].rule == SP_RULE_SIGNAL, "no signal frame before it");
        EXPECT(from_handler.frames[signal + 1].interrupted == 1, "not interrupted");
        EXPECT(through == from_handler.n, "sp_backtrace finds %d frames, not %d", through, from_handler.n);
    }
}

static void all(int flags)
{
    static void (*const functions[])(void) = {after_frame, after_return, after_bare, after_call, alone};
    for (unsigned i = 0; i < sizeof functions / sizeof functions[0]; i++)
        call(functions[i], flags);
}

static void on_its_stack(void)
{
    all(0);
}

static void on_an_alternate_stack(void)
{
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    all(SA_ONSTACK);
}

int main(void)
{
    tap_case("a signal on a function's first instruction", on_its_stack);
    tap_case("the same, handled on an alternate stack", on_an_alternate_stack);
    return tap_end();
}
