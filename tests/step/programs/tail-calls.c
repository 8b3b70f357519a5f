/* SPDX-License-Identifier: MIT */
/* Calls whose frame is already gone: sibling calls, mutual ones, and through pointers. */
#include "program.h"

static NOINLINE int odd(int n);

static NOINLINE int even(int n)
{
    if (n == 0)
        return 1;
    sink = n;
    return odd(n - 1);
}

static NOINLINE int odd(int n)
{
    if (n == 0)
        return 0;
    return even(n - 1);
}

static NOINLINE int after_work(int n)
{
    volatile int v[10];
    v[n & 7] = leaf(n);
    int x = leaf(v[n & 7]);
    return even(x & 15);
}

static int (*volatile through)(int) = after_work;

static NOINLINE int by_pointer(int n)
{
    return through(leaf(n));
}

static NOINLINE int conditional(int n)
{
    int x = leaf(n);
    if (x > 2)
        return by_pointer(x);
    return leaf(x);
}

int main(void)
{
    int total = 0;
    for (int i = 0; i < 4; i++) {
        fill_stack();
        total += even(i) + after_work(i) + by_pointer(i) + conditional(i);
    }
    CHECK(total != 0);
    return 0;
}
