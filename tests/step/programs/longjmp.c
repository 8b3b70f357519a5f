/* SPDX-License-Identifier: MIT */
/* setjmp and longjmp over many frames, in a loop, and out of a callback of libc's. */
#include "program.h"

#include <setjmp.h>

static jmp_buf back;

static NOINLINE int deep(int n)
{
    volatile int v[8];
    v[n & 7] = n;
    if (n == 0)
        longjmp(back, 3);
    return deep(n - 1) + v[n & 7];
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    if (x == 2 || y == 2)
        longjmp(back, 5);
    return leaf(x) - y;
}

static NOINLINE int out_of_sort(void)
{
    int v[5] = {4, 1, 2, 5, 3};
    qsort(v, 5, sizeof v[0], compare);
    return v[0];
}

int main(void)
{
    volatile int total = 0;
    for (volatile int i = 0; i < 4; i++) {
        fill_stack();
        int from = setjmp(back);
        if (from == 0)
            total += i & 1 ? deep(i * 2) : out_of_sort();
        total += leaf(from);
    }
    CHECK(total == 2 * (4 + 6));
    return 0;
}
