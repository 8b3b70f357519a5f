/* SPDX-License-Identifier: MIT */
/* Calls each function a known number of times. Prints "NAME COUNT", what a counter of its calls must show. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>

static long expected_versioned;
static int failures;

#define REPEAT(count) for (int i_ = 0; i_ < (count); i_++)
#define EXPECT(condition) ((condition) ? 0 : (failures++, fprintf(stderr, "line %d: %s\n", __LINE__, #condition)))

__attribute__((noinline)) static long tail(long value)
{
    return target_tail(value + 1);
}

static long call_back(long value)
{
    target_plain();
    return value + 1;
}

static void jumps(int count)
{
    static volatile int landed;
    for (volatile int i = 0; i < count; i++) {
        jmp_buf buffer;
        if (setjmp(buffer) == 0)
            target_jump(buffer);
        landed++;
    }
    EXPECT(landed == count);
}

__attribute__((noinline)) static void vectors(void)
{
    __m128 sum = target_vector(_mm_set_ps(1, 2, 3, 4), _mm_set_ps(10, 20, 30, 40));
    float values[4];
    _mm_storeu_ps(values, sum);
    EXPECT(values[0] == 44 && values[3] == 11);
}

int main(void)
{
    struct target_large large = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
    REPEAT(101) target_plain();
    REPEAT(7) EXPECT(target_six(1, -2, 3, -4, 5, -6) == 77);
    REPEAT(8) EXPECT(target_twelve(1, 2, 3, 4, 5, 6, 7, 8, -9, 10, 11, 1L << 40) == 1L << 40);
    REPEAT(9) EXPECT(target_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9) == 10);
    REPEAT(10) EXPECT(target_long_double(1.25L, 3) == 3.75L);
    REPEAT(11) EXPECT(target_variadic(9, 1.0, 2L, 3.0, 4L, 5.0, 6L, 7.0, 8L, 9.0) == 45);
    REPEAT(12) EXPECT(target_complex(1 + 2 * I) == 2 + 4 * I);
    REPEAT(13) vectors();
    REPEAT(14) EXPECT(target_pair(1, 2).a == 2);
    REPEAT(15) EXPECT(target_large(6, large).values[0] == 6);
    REPEAT(16) EXPECT(tail(1) == 3);
    REPEAT(17) EXPECT(target_ifunc(2) == 6);
    REPEAT(18) expected_versioned += target_versioned(1);
    EXPECT(expected_versioned == 36);
    REPEAT(19) EXPECT(target_callback(call_back, 1) == 2);
    jumps(20);
    if (target_weak)
        REPEAT(21) EXPECT(target_weak() == 1);
    if (target_missing)
        target_missing();
    EXPECT(target_variable + target_thread_variable == 15);
    EXPECT(target_wrong() == 0);

    static const char *const names[] = {"target_plain",       "target_six",      "target_twelve",  "target_doubles",
                                        "target_long_double", "target_variadic", "target_complex", "target_vector",
                                        "target_pair",        "target_large",    "target_tail",    "target_ifunc",
                                        "target_callback",    "target_jump",     "target_weak"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        printf("%s %ld\n", names[i], target_entered(names[i]));
    printf("target_versioned %ld\n", target_entered("target_versioned_new"));
    EXPECT(target_entered("target_plain") == 120);
    return failures ? 1 : 42;
}
