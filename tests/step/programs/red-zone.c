/* SPDX-License-Identifier: MIT */
/* Leaf functions that keep their data below SP, and leaf calls at their ends. */
#include "program.h"

static NOINLINE int red(int a, int b)
{
    volatile int v[20];
    for (int i = 0; i < 20; i++)
        v[i] = a + i;
    v[b & 7] = 3;
    return v[a & 7] + v[b & 15];
}

static NOINLINE long words(long a)
{
    volatile long v[14];
    for (int i = 0; i < 14; i++)
        v[i] = (long)UINT64_C(0xFFFFFFFFA5C00000) + i;
    return v[a & 7] == 0 ? a : a + 1;
}

static NOINLINE int above(int a)
{
    return red(a, 2) + (int)words(a) + red(2, a);
}

int main(void)
{
    int total = 0;
    for (int i = 0; i < 3; i++) {
        fill_stack();
        total += above(i);
    }
    CHECK(total != 0);
    return 0;
}
