/* SPDX-License-Identifier: MIT */
/* Arguments pushed around a call, and left there for later ones; several calls in a row with different numbers. */
#include "program.h"

static NOINLINE int ten(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
    return leaf(a + b + c + d + e) + f + g + h + i + j;
}

static NOINLINE int seven(int a, int b, int c, int d, int e, int f, int g)
{
    return leaf(a + b + c + d + e + f + g);
}

static NOINLINE long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
    return a + b + c + d + e + f + g + h + leaf((int)i);
}

static NOINLINE int calls(int a)
{
    int s = seven(a, 2, 3, 4, 5, 6, 7);
    s += ten(1, a, 3, 4, 5, 6, 7, 8, 9, leaf(a));
    s += (int)nine(1, 2, a, 4, 5, 6, 7, 8, leaf(s));
    s += seven(1, 2, 3, a, 5, 6, ten(1, 2, 3, 4, 5, 6, 7, 8, 9, a));
    return s + leaf(s);
}

int main(void)
{
    int total = 0;
    for (int i = 0; i < 3; i++) {
        fill_stack();
        total += calls(i);
    }
    CHECK(total != 0);
    return 0;
}
