/* SPDX-License-Identifier: MIT */
/* Nested functions: their trampolines put pc on the stack; a goto out of one leaves frames. */
#include "program.h"

static NOINLINE int apply(int (*f)(int), int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += f(i);
    return s + leaf(s);
}

static NOINLINE int outer(int base)
{
    int calls = 0;
    NOINLINE int inner(int x)
    {
        calls++;
        return leaf(base + x) + calls;
    }
    return apply(inner, 3) + calls;
}

static NOINLINE int leaves(int base)
{
    __label__ out;
    int hit = 0;
    NOINLINE int inner(int x)
    {
        hit += leaf(x);
        if (x == base)
            goto out;
        return x;
    }
    apply(inner, 10);
    hit = -1;
out:
    return leaf(hit) + base;
}

int main(void)
{
    int total = 0;
    for (int i = 0; i < 3; i++) {
        fill_stack();
        total += outer(i) + leaves(i);
    }
    CHECK(total != 0);
    return 0;
}
