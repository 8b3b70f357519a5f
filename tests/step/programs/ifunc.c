/* SPDX-License-Identifier: MIT */
/* IFUNCs: the resolver runs before the program is relocated, the calls go through a PLT of their own. */
#include "program.h"

static int fast(int x)
{
    return leaf(x) + 1;
}

static int slow(int x)
{
    return leaf(x) + 2;
}

/* Calls nothing: in a program that is not yet relocated nothing may be called that is elsewhere. */
static int (*choose(void))(int)
{
    volatile int v[8];
    v[3] = 1;
    return v[3] != 0 ? fast : slow;
}

int chosen(int x) __attribute__((ifunc("choose")));

static int (*volatile pointer)(int) = chosen;

int main(void)
{
    fill_stack();
    CHECK(chosen(3) == 5 && pointer(4) == 6);
    return 0;
}
