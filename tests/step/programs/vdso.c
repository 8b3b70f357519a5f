/* SPDX-License-Identifier: MIT */
/* The vdso: its functions have CFI of their own, and fall back to system calls. */
#include "program.h"

#include <sched.h>
#include <sys/time.h>
#include <time.h>

static NOINLINE int clocks(int clock)
{
    struct timespec t;
    CHECK(clock_gettime(clock, &t) == 0);
    return leaf((int)t.tv_sec);
}

int main(void)
{
    fill_stack();
    for (int clock = 0; clock < 8; clock++)
        clocks(clock);
    struct timeval t;
    CHECK(gettimeofday(&t, NULL) == 0);
    unsigned cpu = 0;
    CHECK(sched_getcpu() >= 0 || cpu == 0);
    return (int)(time(NULL) & 0);
}
