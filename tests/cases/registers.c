/* SPDX-License-Identifier: MIT */
/*
 * Case 5: frames whose CFA needs a register that is only in the context, as in OpenSSL's bn_mul_mont, or one saved
 * further in.
 */
#include "tap.h"
#include "walks.h"

#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

/* CFA = *(rsp + 8 + 8 * r9) + 8; first interrupted, then in a call, which may leave anything in r9. */
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".type montgomery, @function\n"
    "montgomery: .cfi_startproc\n leaq (%rsp), %rax\n subq $72, %rsp\n .cfi_def_cfa_offset 80\n movl $5, %r9d\n"
    " movq %rax, 8(%rsp, %r9, 8)\n"
    " .cfi_escape 0x0f, 0x0a, 0x79, 0x00, 0x33, 0x24, 0x77, 0x08, 0x22, 0x06, 0x38, 0x22\n"
    " ud2\n nop\n"
    " call *%rdi\n"
    " addq $72, %rsp\n .cfi_def_cfa %rsp, 8\n ret\n .cfi_endproc\n"

    /* The CFA in each callee-saved register in turn, across a call. */
    ".macro BY register, number\n"
    ".type by_\\register, @function\n"
    "by_\\register: .cfi_startproc\n pushq %\\register\n .cfi_def_cfa_offset 16\n .cfi_offset \\number, -16\n"
    " movq %rsp, %\\register\n .cfi_def_cfa \\number, 16\n subq $80, %rsp\n call *%rdi\n movq %\\register, %rsp\n"
    " .cfi_def_cfa %rsp, 16\n popq %\\register\n .cfi_restore \\number\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc\n"
    ".endm\n"
    "BY rbx, 3\n BY rbp, 6\n BY r12, 12\n BY r13, 13\n BY r14, 14\n BY r15, 15\n");
void montgomery(void (*f)(void)) __asm__("montgomery");
void by_rbx(void (*f)(void)) __asm__("by_rbx");
void by_rbp(void (*f)(void)) __asm__("by_rbp");
void by_r12(void (*f)(void)) __asm__("by_r12");
void by_r13(void (*f)(void)) __asm__("by_r13");
void by_r14(void (*f)(void)) __asm__("by_r14");
void by_r15(void (*f)(void)) __asm__("by_r15");

static struct walk interrupted, called;

static void on_illegal(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    ucontext_t *context = data;
    interrupted.n = sp_walk(data, interrupted.frames, WALK_MOST, &interrupted.end);
    context->uc_mcontext.gregs[REG_RIP] += 2;
}

static NOINLINE void walk_here(void)
{
    called.n = sp_walk(NULL, called.frames, WALK_MOST, &called.end);
    __asm__ volatile("" ::: "memory");
}

static void expression(void)
{
    struct walk here;
    handle(SIGILL, on_illegal, 0);
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (int i = 0; i < 4; i++) {
        montgomery(walk_here);
        EXPECT(interrupted.end == SP_END_OUTERMOST && interrupted.n == here.n + 1 &&
                   walk_ends_with(&interrupted, &here, 1),
               "interrupted: %d frames, end: %s", interrupted.n, sp_end_name(interrupted.end));
        /* walk_here, montgomery; nothing is left of the r9 that the rule asks for. */
        EXPECT(called.end == SP_END_NO_RULE && called.n == 2, "called: %d frames, end: %s", called.n,
               sp_end_name(called.end));
    }
}

static void (*const by[])(void (*)(void)) = {by_rbx, by_rbp, by_r12, by_r13, by_r14, by_r15};
enum { BY = sizeof by / sizeof by[0] };
static int chosen[3];
static int level;

static NOINLINE void deeper(void)
{
    /* Registers are used here too, so that their saves lie in frames of all kinds. */
    volatile char block[16];
    block[0] = (char)level;
    if (level == 3)
        walk_here();
    else
        by[chosen[level++]](deeper);
    __asm__ volatile("" ::"r"(block[0]) : "rbx", "r12", "r13", "r14", "r15", "memory");
}

static void callee_saved(void)
{
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (int i = 0; i < BY * BY * BY; i++) {
        chosen[0] = i % BY;
        chosen[1] = i / BY % BY;
        chosen[2] = i / BY / BY;
        level = 0;
        deeper();
        EXPECT(called.end == SP_END_OUTERMOST && called.n == here.n + 8 && walk_ends_with(&called, &here, 1),
               "registers %d %d %d: %d frames, end: %s", chosen[0], chosen[1], chosen[2], called.n,
               sp_end_name(called.end));
    }
}

/* The register is as it was when the walk was asked for: nothing further in has saved it. */
static void live(void)
{
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (int i = 0; i < BY; i++) {
        by[i](walk_here);
        EXPECT(called.end == SP_END_OUTERMOST && called.n == here.n + 2 && walk_ends_with(&called, &here, 1),
               "register %d: %d frames, end: %s", i, called.n, sp_end_name(called.end));
    }
}

int main(void)
{
    tap_case("a CFA by an expression on a register of the context", expression);
    tap_case("a CFA in any callee-saved register, saved in any frame", callee_saved);
    tap_case("a CFA in any callee-saved register, saved in none", live);
    return tap_end();
}
