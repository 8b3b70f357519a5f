/* SPDX-License-Identifier: MIT */
/* Deep and mutual recursion, beyond what one walk gives. */
#include "program.h"

static NOINLINE int second(int n, int *p);

static NOINLINE int first(int n, int *p)
{
    int v = n;
    if (n == 0)
        return *p;
    return second(n - 1, &v) + leaf(v);
}

static NOINLINE int second(int n, int *p)
{
    int v[9];
    v[n & 7] = *p;
    OPAQUE(n);
    if (n == 0)
        return leaf(v[0]);
    return first(n - 1, &v[n & 7]) + v[n & 7];
}

int main(void)
{
    int v = 3;
    CHECK(first(7, &v) != 0);
    CHECK(first(260, &v) != 0);
    return 0;
}
