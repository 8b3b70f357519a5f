/* SPDX-License-Identifier: MIT */
/* What the stepped programs share. Each shows one construct, checks its own results, and exits with 0. */
#ifndef STEP_PROGRAM_H
#define STEP_PROGRAM_H

#include <stdint.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

/* A call that no optimiser sees through. */
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            _Exit(100 + __LINE__ % 100);                                                                               \
    } while (0)

static NOINLINE int leaf(int x)
{
    sink = x;
    return x + 1;
}

/* Leaves words on the dead stack that look like a frame's own, of all lengths and slots. */
static NOINLINE void fill_stack(void)
{
    volatile uint64_t words[1024];
    for (unsigned i = 0; i < 1024; i++)
        words[i] = UINT64_C(0xFFFFFFFFA5C00000) | (i & 15) << 16 | (i * 7 & 0xFF);
}

#endif
