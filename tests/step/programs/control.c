/* SPDX-License-Identifier: MIT */
/* Jump tables, computed gotos, pointers to functions, variable arguments, vectors, x87, 128-bit and complex numbers. */
#include "program.h"

#include <complex.h>
#include <stdarg.h>
#include <stdio.h>

static NOINLINE int chooses(int n)
{
    switch (n) {
    case 0:
        return leaf(1);
    case 1:
        return leaf(7) + leaf(2);
    case 2:
        return 5;
    case 3:
        return leaf(n) * 3;
    case 4:
        return chooses(3) + 1;
    case 5:
        return chooses(1) + chooses(2);
    case 6:
        return leaf(-1);
    default:
        return 0;
    }
}

static NOINLINE int threaded(const unsigned char *program)
{
    static const void *const operations[] = {&&add, &&call, &&stop};
    int s = 0;
    goto *operations[*program++];
add:
    s += *program++;
    goto *operations[*program++];
call:
    s += leaf(s);
    goto *operations[*program++];
stop:
    return s;
}

static NOINLINE int sums(int n, ...)
{
    va_list a;
    va_start(a, n);
    int s = 0;
    for (int i = 0; i < n; i++)
        s += leaf(va_arg(a, int));
    s += (int)va_arg(a, double);
    va_end(a);
    return s;
}

typedef float vector __attribute__((vector_size(16)));

static NOINLINE vector vectors(vector a, vector b, int n)
{
    for (int i = 0; i < n; i++)
        a = a * b + (float)leaf(i);
    return a;
}

static NOINLINE long double x87(long double a, int n)
{
    return n == 0 ? a : x87(a * 1.5L, n - 1) + leaf(n);
}

static NOINLINE __int128 wide(__int128 a, __int128 b)
{
    return a * b / (leaf(3) + (__int128)1) % 1000003;
}

static NOINLINE double complex complexes(double complex a)
{
    return a * a + leaf((int)creal(a)) * I;
}

static int (*volatile pointer)(int) = chooses;

int main(void)
{
    static const unsigned char program[] = {0, 5, 1, 0, 7, 1, 2};
    fill_stack();
    int total = threaded(program) + sums(5, 1, 2, 3, 4, 5, 2.5);
    for (int i = 0; i < 8; i++)
        total += chooses(i) + pointer(i);
    fill_stack();
    vector v = vectors((vector){1, 2, 3, 4}, (vector){1, 1, 1, 1}, 3);
    total += (int)v[2] + (int)x87(1.0L, 4) + (int)wide(total, 77) + (int)creal(complexes(2.0 + I));
    CHECK(total != 0);
    return 0;
}
