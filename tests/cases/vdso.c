/* SPDX-License-Identifier: MIT */
/* Case 3: inside the kernel's vdso, which is in no file. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tap.h"
#include "walks.h"

#include <sched.h>
#include <sys/time.h>
#include <time.h>

static void call_all(void *unused)
{
    (void)unused;
    struct timespec t;
    struct timeval v;
    unsigned cpu;
    for (clockid_t clock = 0; clock < 12; clock++)
        clock_gettime(clock, &t);
    clock_getres(CLOCK_MONOTONIC, &t);
    gettimeofday(&v, NULL);
    time(NULL);
    getcpu(&cpu, NULL);
}

static void call_often(void *unused)
{
    (void)unused;
    struct timespec t;
    for (int i = 0; i < 10000; i++)
        clock_gettime(CLOCK_MONOTONIC, &t);
}

static void step(void)
{
    struct tally tally = walk_each_step(call_all, NULL);
    EXPECT(tally.walks > 300, "only %ld steps", tally.walks);
    EXPECT(tally.wrong == 0 && tally.marked == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong, tally.walks,
           tally.marked);
}

static void sample(void)
{
    struct tally tally = walk_samples(call_often, NULL, 200);
    EXPECT(tally.wrong == 0 && tally.marked == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong, tally.walks,
           tally.marked);
}

int main(void)
{
    tap_case("each step of the vdso's functions", step);
    tap_case("clock_gettime under a profiler", sample);
    return tap_end();
}
