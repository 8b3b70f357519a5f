/* SPDX-License-Identifier: MIT */
/*
 * A strand: one line of execution with its stack (a thread's, a coroutine's), and the shadow of that stack, kept from
 * the calls and returns executed so far.
 *
 *     entry        at                                   pc                   a frame of the truth
 *     call         address of the return address        the return address   (pc, at + 8)
 *     signal       the interrupted SP                   the interrupted pc   (pc, at), interrupted
 *
 * Entries lie oldest first. A call's entry lives as long as SP is not above it, whatever moved SP: a return, longjmp,
 * an exception. Where a signal's handler runs on an alternate stack, its entries form a segment of their own.
 */
#ifndef STEP_STRAND_H
#define STEP_STRAND_H

#include "region.h"

#include <stdbool.h>
#include <stdint.h>

enum step_entry_kind { STEP_CALL, STEP_SIGNAL };

struct step_entry {
    uintptr_t at;
    uintptr_t pc;
    uint32_t kind;
};

struct step_segment {
    struct step_region region;
    uint32_t first; /* entries below this index belong to older segments */
};

#define STEP_SEGMENTS 8
#define STEP_ENTRIES (UINT32_C(1) << 20)

struct step_strand {
    struct step_entry *entries;
    uint32_t n;
    uint32_t segments; /* at least 1 */
    struct step_segment segment[STEP_SEGMENTS];
    /* Not followed from its first instruction on: above the oldest entry may be one more frame, whose return address
     * was found at entry_at. */
    bool open;
    bool lost; /* more entries or segments than fit: its truth is no longer known */
    uint32_t used;
    uintptr_t entry_at;
    uintptr_t entry_pc;
    /* A function switched to this stack and called from it: its callers are on this other strand. */
    const struct step_strand *below;
};

/* A new strand without entries whose SP lies in the region, or NULL when all are in use. */
struct step_strand *step_strand_new(struct step_region region);
void step_strand_free(struct step_strand *strand);

/* The stack is given a new first frame (makecontext): forgets what was on it. */
void step_strand_reset(struct step_strand *strand);

/* A copy of a strand, for a process that runs on its creator's stack (vfork). */
struct step_strand *step_strand_copy(const struct step_strand *strand);

/* The strand that has a segment in this region, or NULL. A main stack grows, so the ends are compared. */
struct step_strand *step_strand_find(struct step_region region);

static inline struct step_segment *step_strand_top(struct step_strand *strand)
{
    return &strand->segment[strand->segments - 1];
}

void step_strand_call(struct step_strand *strand, uintptr_t at, uintptr_t return_address);

/* A signal interrupted the strand at (pc, sp); its handler was entered with handler_sp in handler_region. */
void step_strand_signal(struct step_strand *strand, uintptr_t pc, uintptr_t sp, uintptr_t handler_sp,
                        struct step_region handler_region);

/* Leaves the newest signal's handler, however deep in it: drops all entries down to and with the signal's. */
void step_strand_return_from_signal(struct step_strand *strand);

/* Leaves segments until the newest has this SP; false (and nothing changed) where none has. */
bool step_strand_leave_to(struct step_strand *strand, uintptr_t sp);

/* Drops what SP has passed; returns how many entries, with the last one in *last where any. */
uint32_t step_strand_pop(struct step_strand *strand, uintptr_t sp, struct step_entry *last);

#endif
