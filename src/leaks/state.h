/* SPDX-License-Identifier: MIT */
/* What all parts of the detector know of the process. */
#ifndef SPWALK_LEAKS_STATE_H
#define SPWALK_LEAKS_STATE_H

#include <stdbool.h>
#include <stdint.h>

extern int32_t leaks_process_id;  /* of the process that records; another one that runs this code is a vfork's child */
extern uint32_t leaks_epoch;      /* how many forks lie between the first process and this one, modulo 256 */
extern uint32_t leaks_is_off;     /* recording is disabled for all threads */
extern uint32_t leaks_is_partial; /* there were blocks that got no record */
extern uint64_t leaks_lost;       /* blocks that have no record for want of memory */
extern uint64_t leaks_start_tick; /* of the time stamp counter, when recording began */

/* > 0: the calling thread does not record. < 0: it does, whatever leaks_is_off says. */
extern __thread int32_t leaks_thread_off __attribute__((tls_model("initial-exec")));

static inline uint64_t leaks_tick(void)
{
    return __builtin_ia32_rdtsc();
}

/* Since recording began; 0 before. */
static inline uint64_t leaks_ticks_passed(void)
{
    return __builtin_expect(leaks_start_tick == 0, 0) ? 0 : leaks_tick() - leaks_start_tick;
}

#endif
