/* SPDX-License-Identifier: MIT */
/* Stops the other threads of the process while their stacks and registers are searched for pointers. */
#ifndef SPWALK_LEAKS_STOP_H
#define SPWALK_LEAKS_STOP_H

#include <stddef.h>
#include <stdint.h>

struct leaks_stopped {
    int32_t thread;
    uint32_t has_answered;
    uint32_t is_moving;      /* it was stopped in a realloc */
    uintptr_t sp;            /* all it uses of its stack lies above, its registers saved there too */
    uintptr_t control_block; /* its %fs:0 */
};

/*
 * Stops all threads but the calling one by a signal of the highest real-time numbers, whose handler waits. Threads that
 * block it do not answer in time, and run on. Returns how many there are; *stopped tells of them until they go on.
 * Until then no handler runs in the calling thread: all signals are blocked.
 */
size_t leaks_stop_others(const struct leaks_stopped **stopped);
void leaks_go_on(void);

/* How many threads the process has. */
size_t leaks_count_threads(void);

#endif
