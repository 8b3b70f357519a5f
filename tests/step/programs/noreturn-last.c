/* SPDX-License-Identifier: MIT */
/* A call that does not return is its function's last instruction: the return address is the next function's. */
#include "program.h"

#include <setjmp.h>

static jmp_buf back;

__attribute__((noreturn)) static NOINLINE void leave(int n)
{
    longjmp(back, n);
}

static NOINLINE void last(int n)
{
    leaf(n);
    leave(n + 1);
}

/* The function behind it has a frame of another size. */
static NOINLINE int next(int n)
{
    volatile char big[4096];
    big[n & 15] = 1;
    return leaf(big[n & 15]);
}

static NOINLINE void twice(int n)
{
    if (n > 1)
        last(n);
    leave(3);
}

int main(void)
{
    for (volatile int i = 0; i < 4; i++) {
        fill_stack();
        if (setjmp(back) == 0)
            twice(i);
        next(i);
    }
    return 0;
}
