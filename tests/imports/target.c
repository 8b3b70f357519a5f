/* SPDX-License-Identifier: MIT */
#include "target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

static struct {
    const char *name;
    atomic_long entered;
} counts[32];
static atomic_long wrong;

long target_variable = 7;
__thread long target_thread_variable = 8;

static void enter(const char *name)
{
    for (int i = 0; i < 32; i++) {
        if (!counts[i].name)
            counts[i].name = name;
        if (strcmp(counts[i].name, name) == 0) {
            counts[i].entered++;
            return;
        }
    }
}

#define ENTER() enter(__func__)
#define CHECK(condition) ((condition) ? 0 : wrong++)

long target_entered(const char *name)
{
    for (int i = 0; i < 32 && counts[i].name; i++)
        if (strcmp(counts[i].name, name) == 0)
            return counts[i].entered;
    return 0;
}

long target_wrong(void)
{
    return wrong;
}

void target_plain(void)
{
    ENTER();
}

long target_six(long a, long b, long c, long d, long e, long f)
{
    ENTER();
    CHECK(a == 1 && b == -2 && c == 3 && d == -4 && e == 5 && f == -6);
    return 77;
}

long target_twelve(long a, long b, long c, long d, long e, long f, int g, char h, long i, short j, long k, long l)
{
    ENTER();
    CHECK(a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6);
    CHECK(g == 7 && h == 8 && i == -9 && j == 10 && k == 11 && l == 1L << 40);
    return l;
}

double target_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i)
{
    ENTER();
    CHECK(a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8 && i == 9);
    return a + i;
}

long double target_long_double(long double a, int b)
{
    ENTER();
    CHECK(a == 1.25L && b == 3);
    return a * b;
}

double target_variadic(int count, ...)
{
    va_list arguments;
    double sum = 0;
    ENTER();
    va_start(arguments, count);
    for (int i = 0; i < count; i++)
        sum += i % 2 ? (double)va_arg(arguments, long) : va_arg(arguments, double);
    va_end(arguments);
    return sum;
}

_Complex double target_complex(_Complex double value)
{
    ENTER();
    return value * 2;
}

__m128 target_vector(__m128 a, __m128 b)
{
    ENTER();
    return _mm_add_ps(a, b);
}

struct target_pair target_pair(long a, long b)
{
    ENTER();
    return (struct target_pair){b, a};
}

struct target_large target_large(long first, struct target_large other)
{
    ENTER();
    CHECK(other.values[8] == 9);
    other.values[0] = first;
    return other;
}

long target_tail(long value)
{
    ENTER();
    return value + 1;
}

static long chosen(long value)
{
    enter("target_ifunc");
    return value * 3;
}

static long (*choose(void))(long)
{
    return chosen;
}

long target_ifunc(long value) __attribute__((ifunc("choose")));

long target_versioned_old(long value)
{
    enter("target_versioned_old");
    return value - 1;
}

long target_versioned_new(long value)
{
    enter("target_versioned_new");
    return value + 1;
}

__asm__(".symver target_versioned_old, target_versioned@TARGET_1\n"
        ".symver target_versioned_new, target_versioned@@TARGET_2");

long target_callback(long (*function)(long), long value)
{
    ENTER();
    return function(value);
}

void target_jump(jmp_buf buffer)
{
    ENTER();
    longjmp(buffer, 5);
}

long target_address(void)
{
    return (long)target_plain;
}

long target_weak(void)
{
    ENTER();
    return 1;
}
