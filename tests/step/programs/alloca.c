/* SPDX-License-Identifier: MIT */
/* Stacks whose bottom moves: alloca, variable-length arrays, both in loops, and longjmp back above them. */
#include "program.h"

#include <alloca.h>
#include <setjmp.h>
#include <string.h>

static NOINLINE int use(char *p, int n)
{
    memset(p, n, (size_t)n);
    return leaf(p[n - 1]);
}

static NOINLINE int with_alloca(int n)
{
    int s = leaf(n);
    for (int i = 1; i < 4; i++)
        s += use(alloca((size_t)(n * i)), n * i);
    return s + leaf(s);
}

static NOINLINE int with_array(int n)
{
    int s = leaf(n);
    for (int i = 1; i < 4; i++) {
        char v[n * i + 8];
        s += use(v, n * i);
    }
    return s + leaf(s);
}

static jmp_buf back;

static NOINLINE void jump(int n)
{
    char v[n];
    use(v, n);
    longjmp(back, n);
}

static NOINLINE int with_jump(int n)
{
    volatile int s = leaf(n);
    char *p = alloca((size_t)n + 16);
    s += use(p, n);
    int from = setjmp(back);
    if (from == 0)
        jump(n + 3);
    s += leaf(from);
    s += use(alloca((size_t)n + 64), n);
    return s + leaf(s);
}

static NOINLINE int with_arguments(int n)
{
    char *p = alloca((size_t)n + 8);
    char buffer[80];
    memset(p, n, (size_t)n);
    extern int snprintf(char *, size_t, const char *, ...);
    return snprintf(buffer, sizeof buffer, "%d %d %d %d %d %d %d %d", n, 1, 2, 3, 4, 5, 6, p[0]);
}

int main(void)
{
    int total = 0;
    for (int i = 1; i < 4; i++) {
        fill_stack();
        total += with_alloca(i * 5) + with_array(i * 7);
        fill_stack();
        total += with_jump(i * 9) + with_arguments(i);
    }
    CHECK(total != 0);
    return 0;
}
