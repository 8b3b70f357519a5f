/* SPDX-License-Identifier: MIT */
/* The library whose calls are counted: functions of every calling shape, each of which checks what it was passed. */
#ifndef TARGET_H
#define TARGET_H

#include <complex.h>
#include <immintrin.h>
#include <setjmp.h>

#ifdef __cplusplus
extern "C" {
#else
struct target_pair {
    long a, b;
};
struct target_large {
    long values[9];
};
_Complex double target_complex(_Complex double value);
struct target_pair target_pair(long a, long b);
struct target_large target_large(long first, struct target_large other);
#endif

void target_plain(void);
long target_six(long a, long b, long c, long d, long e, long f);
long target_twelve(long a, long b, long c, long d, long e, long f, int g, char h, long i, short j, long k, long l);
double target_doubles(double a, double b, double c, double d, double e, double f, double g, double h, double i);
long double target_long_double(long double a, int b);
double target_variadic(int count, ...);
__m128 target_vector(__m128 a, __m128 b);
long target_tail(long value);
long target_ifunc(long value);
long target_versioned(long value);
long target_callback(long (*function)(long), long value);
void target_jump(jmp_buf buffer);
void target_throw(int value);
long target_address(void); /* of target_plain, as the library sees it */
long target_weak(void) __attribute__((weak));
long target_missing(void) __attribute__((weak)); /* nothing defines it */
extern long target_variable;
extern __thread long target_thread_variable;

/* How often a function was entered, by name; and how often one was passed something wrong. */
long target_entered(const char *name);
long target_wrong(void);

#ifdef __cplusplus
}
#endif
#endif
