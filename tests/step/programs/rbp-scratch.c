/* SPDX-License-Identifier: MIT */
/* rbp as a plain register that holds addresses in the stack, above and below the frame, and words. */
#include "program.h"

__asm__(".text\n"
        ".type with_rbp, @function\n"
        "with_rbp:\n" /* (uintptr_t value, int (*f)(int)) */
        ".cfi_startproc\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "mov %rdi, %rbp\n"
        "mov $3, %edi\n"
        "nop\n"
        "call *%rsi\n"
        "add %ebp, %eax\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size with_rbp, . - with_rbp\n");
int with_rbp(uintptr_t value, int (*f)(int)) __asm__("with_rbp");

static NOINLINE int saves_rbp(int n)
{
    volatile int v[12];
    v[n & 7] = leaf(n);
    return v[n & 7] + leaf(n);
}

int main(void)
{
    char here[64];
    uintptr_t values[] = {(uintptr_t)here,
                          (uintptr_t)here - 256,
                          (uintptr_t)here + 0xF00,
                          (uintptr_t)here + 4096,
                          0,
                          UINT64_C(0xFFFFFFFFA5C00004),
                          (uintptr_t)here | 1,
                          UINTPTR_MAX};
    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++) {
        fill_stack();
        sink = with_rbp(values[i], saves_rbp);
    }
    return 0;
}
