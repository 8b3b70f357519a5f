/* SPDX-License-Identifier: MIT */
/* Threads that wait deep in a call, so that their stacks can be damaged and walked. */
#ifndef SPWALK_TESTS_WALK_VICTIMS_H
#define SPWALK_TESTS_WALK_VICTIMS_H

#include <stdint.h>
#include <ucontext.h>

enum victim_kind {
    VICTIM_WORDS, /* frames left by words, by CFA = rsp + n and CFA = rbp + 16 */
    VICTIM_MIXED, /* a signal frame, realigned frames, libc's qsort, code without CFI between them */
    VICTIM_FULL,  /* frames whose CFA needs another register than rsp and rbp */
    VICTIMS,
};

struct victim {
    uintptr_t lo, hi;  /* its stack's mapping, with pages that can't be read on both sides */
    uintptr_t control; /* its thread control block, within the mapping */
    ucontext_t context;
};

extern struct victim victims[VICTIMS];

/* Starts them all, and returns when each is where it stays. */
void victims_start(void);

#endif
