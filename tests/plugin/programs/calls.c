/* SPDX-License-Identifier: MIT */
/*
 * Functions of all the kinds that a frame can have. What it prints is the same with and without the plugin.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "probe.h"

volatile int zero;
volatile long sink;

ALONE int add_eight(int a, int b, int c, int d, int e, int f, int g, int h)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

/* Arguments on the stack at some calls and not at others, with pops that GCC may put off. */
ALONE int passes_on_stack(int n)
{
    EXPECT_WORD();
    int sum = add_eight(n, 1, 2, 3, 4, 5, 6, 7);
    sum += add_eight(1, n, 2, 3, 4, 5, sum, 7);
    if (n > 2)
        sum += add_eight(1, 2, 3, 4, 5, 6, 7, n) + add_eight(n, n, n, n, n, n, n, add_eight(1, 1, 1, 1, 1, 1, 1, n));
    EXPECT_WORD();
    return sum;
}

struct large {
    long member[12];
};

ALONE long takes_large(struct large value, int i)
{
    EXPECT_WORD();
    return value.member[i % 12];
}

ALONE struct large returns_large(int n)
{
    struct large value;
    for (int i = 0; i < 12; i++)
        value.member[i] = i * n;
    EXPECT_WORD();
    return value;
}

ALONE long sum_of(int count, ...)
{
    va_list list;
    long sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += i % 2 ? (long)va_arg(list, double) : va_arg(list, long);
    va_end(list);
    EXPECT_WORD();
    return sum;
}

/* The prologue is only on the path that needs it. */
ALONE int shrink_wrapped(int n, const char *text)
{
    if (n < 3)
        return n;
    EXPECT_WORD();
    return n + (int)strlen(text) + add_eight(n, 0, 0, 0, 0, 0, 0, 0);
}

/* More live values than registers, rbp among them. */
ALONE long uses_all_registers(long a, long b, long c, long d, long e, long f)
{
    long g = a * b, h = c * d, i = e * f, j = a ^ f, k = b ^ e, l = c ^ d, m = a + c + e, n = b + d + f;
    EXPECT_WORD();
    for (int round = 0; round < 3; round++) {
        long x = sum_of(2, a + round, 1.0);
        g += h ^ x, h -= i, i ^= j, j += k, k -= l, l ^= m, m += n, n -= g;
    }
    EXPECT_WORD();
    return a + b + c + d + e + f + g + h + i + j + k + l + m + n;
}

ALONE int large_frame(int n)
{
    volatile char buffer[70000];
    buffer[n] = 1;
    EXPECT_WORD();
    return buffer[n] + add_eight(n, 1, 1, 1, 1, 1, 1, 1);
}

/* Longer than a word can say. */
ALONE int huge_frame(int n)
{
    volatile char buffer[600000];
    buffer[n] = 2;
    add_eight(n, 1, 1, 1, 1, 1, 1, 1);
    return buffer[n];
}

ALONE int dynamic_frame(int n)
{
    char *first = alloca((size_t)n + 1);
    memset(first, 'a', (size_t)n);
    first[n] = '\0';
    char second[n + 2];
    strcpy(second, first);
    return (int)strlen(first) + (int)strlen(second);
}

ALONE int aligned_frame(int n)
{
    _Alignas(64) volatile int values[16];
    values[n] = n;
    return add_eight(values[n], 0, 0, 0, 0, 0, 0, 0) + (int)((uintptr_t)values % 64);
}

ALONE int switches(int n)
{
    EXPECT_WORD();
    switch (n) {
    case 0:
        return add_eight(n, 1, 0, 0, 0, 0, 0, 0) + 1;
    case 1:
        return (int)sum_of(3, 1L, 2.0, 3L) + 1;
    case 2:
        return passes_on_stack(n) + 2;
    case 3:
        return shrink_wrapped(7, "text") + 3;
    case 4:
        return large_frame(4) + 4;
    case 5:
        return dynamic_frame(5) + 5;
    case 6:
        return aligned_frame(6) + 6;
    default:
        return -1;
    }
}

ALONE int calls_at_its_end(int n)
{
    return shrink_wrapped(n + 1, "tail");
}

ALONE __attribute__((noreturn, cold)) void leaves(jmp_buf place, int n)
{
    EXPECT_WORD();
    longjmp(place, n);
}

ALONE int jumps(int n)
{
    jmp_buf place;
    volatile int rounds = 0;
    EXPECT_WORD();
    int value = setjmp(place);
    rounds++;
    EXPECT_WORD();
    if (value < n)
        leaves(place, value + 1);
    return rounds * 10 + value;
}

ALONE int builtin_jumps(void)
{
    void *place[5];
    volatile int rounds = 0;
    if (__builtin_setjmp(place) == 0) {
        rounds += 1;
        if (!zero)
            __builtin_longjmp(place, 1);
    }
    add_eight(1, 1, 1, 1, 1, 1, 1, rounds);
    return rounds;
}

static int compare_count;

/* A trampoline on the stack, a static chain, a callback from libc, and a jump out of the inner function. */
ALONE int nested(int n)
{
    __label__ out;
    int values[8] = {5, 2, 7, 1, 8, 3, 6, 4}, seen = 0;
    int compare(const void *a, const void *b)
    {
        EXPECT_WORD();
        seen++;
        compare_count++;
        return *(const int *)a - *(const int *)b;
    }
    void visit(int i)
    {
        if (values[i] == n)
            goto out;
        if (i < 7)
            visit(i + 1);
    }
    EXPECT_WORD();
    qsort(values, 8, sizeof *values, compare);
    visit(0);
    seen = -1;
out:
    return values[0] * 100 + values[7] * 10 + (seen > 0);
}

ALONE int recursive(int n)
{
    char text[24];
    snprintf(text, sizeof text, "%d", n);
    EXPECT_WORD();
    return n == 0 ? 0 : recursive(n - 1) + (int)strlen(text);
}

static int signals;

static void on_signal(int number, siginfo_t *info, void *context)
{
    EXPECT_WORD();
    signals += number == SIGUSR1 && info && context;
}

ALONE int signalled(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    EXPECT_WORD();
    raise(SIGUSR1);
    EXPECT_WORD();
    return signals;
}

__attribute__((spwalk_skip)) ALONE int skipped(int n)
{
    return add_eight(n, n, n, n, n, n, n, n) + 1;
}

int main(void)
{
    struct large value = returns_large(3);
    printf("%d %d\n", passes_on_stack(1), passes_on_stack(5));
    printf("%ld %ld\n", takes_large(value, 4), sum_of(5, 1L, 2.0, 3L, 4.0, 5L));
    printf("%d %d %ld\n", shrink_wrapped(1, "x"), shrink_wrapped(4, "xy"), uses_all_registers(1, 2, 3, 4, 5, 6));
    printf("%d %d %d %d\n", large_frame(3), huge_frame(4), dynamic_frame(9), aligned_frame(3));
    for (int i = 0; i < 8; i++)
        printf("%d ", switches(i));
    printf("\n%d %d %d %d\n", calls_at_its_end(1), calls_at_its_end(5), jumps(3), builtin_jumps());
    printf("%d %d %d %d\n", nested(6), recursive(30), signalled(), skipped(2));
    return 0;
}
