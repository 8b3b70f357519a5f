/* SPDX-License-Identifier: MIT */
/* Functions without a prologue, with another calling convention, and ones that the plugin is told to skip. */
#include "program.h"

__attribute__((naked)) static NOINLINE int naked_leaf(int x)
{
    (void)x;
    __asm__("lea 1(%rdi), %eax\n\tret");
}

__attribute__((naked, used)) static NOINLINE int naked_caller(int x)
{
    (void)x;
    __asm__("push %rbx\n\t"
            ".cfi_adjust_cfa_offset 8\n\t"
            ".cfi_rel_offset %rbx, 0\n\t"
            "mov %edi, %ebx\n\t"
            "call *%rsi\n\t"
            "add %ebx, %eax\n\t"
            "pop %rbx\n\t"
            ".cfi_adjust_cfa_offset -8\n\t"
            ".cfi_restore %rbx\n\t"
            "ret");
}

__attribute__((ms_abi)) static NOINLINE int microsoft(int a, int b, int c, int d, int e, int f)
{
    return leaf(a + b) + leaf(c + d) + e + f;
}

__attribute__((ms_abi)) static NOINLINE double microsoft_floats(double a, double b)
{
    double c = a * leaf((int)b);
    return c + leaf((int)a) * b;
}

#ifdef __SPWALK__
__attribute__((spwalk_skip))
#endif
static NOINLINE int
skipped(int a)
{
    return leaf(a) + leaf(a + 2);
}

int main(void)
{
    int total = 0;
    for (int i = 0; i < 3; i++) {
        fill_stack();
        total += naked_leaf(i) + ((int (*)(int, int (*)(int)))naked_caller)(i, leaf);
        fill_stack();
        total += microsoft(1, 2, 3, 4, 5, i) + (int)microsoft_floats(2.0, i);
        total += skipped(i);
    }
    CHECK(total != 0);
    return 0;
}
