/* SPDX-License-Identifier: MIT */
/* The time-stamp counter, fenced so that what is measured lies wholly between two readings. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

static inline uint64_t clock_begin(void)
{
    _mm_lfence();
    uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}

static inline uint64_t clock_end(void)
{
    unsigned processor;
    uint64_t ticks = __rdtscp(&processor);
    _mm_lfence();
    return ticks;
}

/* Nanoseconds a tick, by 20 ms of the monotonic clock. */
static inline double clock_period(void)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    uint64_t begin = clock_begin();
    double elapsed;
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        elapsed = (double)(now.tv_sec - start.tv_sec) * 1e9 + (double)(now.tv_nsec - start.tv_nsec);
    } while (elapsed < 20e6);
    return elapsed / (double)(clock_end() - begin);
}

#endif
