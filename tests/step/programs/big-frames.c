/* SPDX-License-Identifier: MIT */
/* Frames that a frame word cannot hold, frames above 1 MiB, and probes of the stack before the word. */
#include "program.h"

static NOINLINE int page(int n)
{
    volatile char v[5000];
    v[n] = 1;
    return leaf(n) + v[n];
}

static NOINLINE int large(int n)
{
    volatile char v[0x50000];
    v[n] = 1;
    return n != 0 ? large(n - 1) + v[0] : page(n);
}

static NOINLINE int too_large(int n)
{
    volatile char v[600000];
    v[n] = 1;
    return large(2) + leaf(n) + v[n];
}

static NOINLINE int huge(int n)
{
    volatile char v[1500000];
    v[n] = 1;
    return n != 0 ? huge(n - 1) + v[0] : too_large(n) + leaf(v[n]);
}

int main(void)
{
    fill_stack();
    CHECK(huge(2) != 0);
    fill_stack();
    CHECK(page(3) != 0 && large(1) != 0);
    return 0;
}
