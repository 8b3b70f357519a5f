/* SPDX-License-Identifier: MIT */
/* Frames that are realigned: the CFA is found through a saved register, also with alloca and variable arrays in them.
 */
#include "program.h"

#include <alloca.h>
#include <string.h>

static NOINLINE int aligned(int a)
{
    _Alignas(64) volatile char v[64];
    v[a & 31] = (char)a;
    CHECK(((uintptr_t)v & 63) == 0);
    return leaf(v[a & 31]) + leaf(a);
}

static NOINLINE int aligned_and_variable(int n, int m)
{
    _Alignas(64) volatile char v[64];
    char w[n];
    char *p = alloca((size_t)m);
    memset(w, n, (size_t)n);
    memset(p, m, (size_t)m);
    v[n & 31] = w[n - 1];
    CHECK(((uintptr_t)v & 63) == 0);
    return leaf(v[n & 31]) + leaf(p[m - 1]);
}

static NOINLINE int with_arguments(int a, int b, int c, int d, int e, int f, int g, int h)
{
    _Alignas(128) volatile int v[32];
    v[a & 15] = g + h;
    return leaf(v[a & 15]) + leaf(b + c + d) + e + f + aligned(h);
}

static NOINLINE int deep(int n)
{
    _Alignas(32) volatile int v[8];
    v[n & 7] = n;
    return n == 0 ? aligned_and_variable(9, 5) : deep(n - 1) + leaf(v[n & 7]);
}

int main(void)
{
    int total = 0;
    for (int i = 1; i < 4; i++) {
        fill_stack();
        total += aligned(i) + aligned_and_variable(i * 9, i * 17);
        fill_stack();
        total += with_arguments(1, 2, 3, 4, 5, 6, 7, i) + deep(4);
    }
    CHECK(total != 0);
    return 0;
}
