/* SPDX-License-Identifier: MIT */
/* Prologues and epilogues of all shapes: no locals, few, many, saved registers, arguments on the stack. */
#include "program.h"

static NOINLINE int none(int a)
{
    return leaf(a) + 1;
}

static NOINLINE int saves(int a, int b, int c, int d)
{
    int w = leaf(a), x = leaf(b), y = leaf(c), z = leaf(d);
    return leaf(w + x) + leaf(y + z) + w * x + y * z + a + b + c + d;
}

static NOINLINE int locals(int a)
{
    volatile int v[40];
    for (int i = 0; i < 40; i++)
        v[i] = a;
    return leaf(v[a & 7]) + v[3];
}

static NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
    return leaf(a + b + c + d + e + f) + leaf(g + h + i + j) + saves(g, h, i, j);
}

static NOINLINE double floats(double x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x * leaf(i);
    return s;
}

struct big {
    long v[12];
};

static NOINLINE struct big returns(int a)
{
    struct big b;
    for (int i = 0; i < 12; i++)
        b.v[i] = leaf(a + i);
    return b;
}

static NOINLINE int takes(struct big b, int n)
{
    return n == 0 ? leaf((int)b.v[3]) : takes(b, n - 1) + 1;
}

int main(void)
{
    int total = 0;
    for (int i = 0; i < 3; i++) {
        fill_stack();
        total += none(i) + saves(i, 2, 3, 4);
        fill_stack();
        total += locals(i) + many(1, 2, 3, 4, 5, 6, 7, 8, 9, i);
        fill_stack();
        total += (int)floats(1.5, 3) + takes(returns(i), 3);
    }
    CHECK(total > 0);
    return 0;
}
