/* SPDX-License-Identifier: MIT */
/*
 * How far a walk has got, and the steps that the general walk and the short ways have in common.
 */
#ifndef SPWALK_PROGRESS_H
#define SPWALK_PROGRESS_H

#include "walk/ahead.h"
#include "walk/load.h"
#include "walk/recording.h"
#include "walk/rules.h"
#include "walk/start.h"

#include <emmintrin.h>

/* Where a walk has got to. */
struct sp_progress {
    uintptr_t pc, sp, rbp_at, left_sp;
    int count;
    bool interrupted;
    struct sp_bounds bounds; /* of the stack that it starts on: asked for once, since that can mean asking the kernel */
    /* Of one that is kept: */
    struct sp_way way; /* how it came there */
    unsigned unasked;  /* rbp_at is where rbp is saved, unless one of the last `unasked` new frames saves it */
    struct sp_ahead ahead;
    unsigned stack_changes; /* set at the walk's end: how many times it went from one stack to another */
};

/* Field by field: a copy of what has just been stored in parts would have to wait for it. */
static inline void sp_progress_begin(struct sp_progress *progress, const struct sp_start *start,
                                     const struct sp_bounds *bounds)
{
    progress->pc = start->pc;
    progress->sp = start->sp;
    progress->rbp_at = progress->left_sp = 0;
    progress->count = 0;
    progress->interrupted = start->interrupted;
    progress->bounds = *bounds;
    progress->way.is_plain = false;
    progress->way.rbp_below = 0;
    progress->unasked = 0;
    progress->ahead.sp = UINTPTR_MAX;
}

/* The pcs of `count` frames from `from` on; where not all are plainly come to, are_plain is false. */
static inline __attribute__((always_inline)) void sp_kept_put_pcs(void **pcs, const struct sp_kept_row *row,
                                                                  unsigned from, int count, bool are_plain)
{
    const uint64_t *kept = row->pc + from;
    int i = 0;
    for (; count - i >= 4; i += 4) {
        __m128i a = _mm_loadu_si128((const __m128i *)(kept + i)), b = _mm_loadu_si128((const __m128i *)(kept + i + 2));
        _mm_storeu_si128((__m128i *)(pcs + i), a);
        _mm_storeu_si128((__m128i *)(pcs + i + 2), b);
    }
    for (; i < count; i++)
        pcs[i] = (void *)kept[i];
    if (!are_plain)
        for (i = 0; i < count; i++)
            pcs[i] = (void *)sp_kept_pc(row, from + (unsigned)i);
}

/* How a rule leads to the next frame, where its own frame's rbp is saved at rbp_at; 0: nowhere, it is the start's. */
static inline __attribute__((always_inline)) struct sp_way sp_way_of(sp_rule rule, uintptr_t rbp_at, uintptr_t sp)
{
    enum sp_rule_kind kind = sp_rule_kind(rule);
    uintptr_t below = sp - rbp_at;
    uint32_t words = below % 8 == 0 && below / 8 < SP_RBP_AT_START ? (uint32_t)(below / 8) : 0;
    if (rule & SP_RULE_VOLATILE || kind > SP_KIND_RBP)
        return (struct sp_way){false, 0};
    if (kind == SP_KIND_SP)
        return (struct sp_way){true, 0};
    if (sp_rule_offset(rule) != 16)
        return (struct sp_way){false, 0};
    return (struct sp_way){false, rbp_at != 0 ? words : SP_RBP_AT_START};
}

/*
 * The caller's SP by a rule that needs SP and rbp alone, where it can be followed without more ado; else 0. rbp_at: as
 * for sp_way_of.
 */
static inline __attribute__((always_inline)) uintptr_t sp_follow(sp_rule rule, bool interrupted, uintptr_t sp,
                                                                 uintptr_t rbp_at, uintptr_t start_rbp, uintptr_t lo,
                                                                 uintptr_t last)
{
    enum sp_rule_kind kind = sp_rule_kind(rule);
    if ((kind != SP_KIND_SP && kind != SP_KIND_RBP) || rule & SP_RULE_VOLATILE ||
        (interrupted && sp_rule_state(rule) != SP_RULE_PROVEN))
        return 0;
    uintptr_t caller_sp = sp;
    if (kind == SP_KIND_RBP)
        caller_sp = rbp_at != 0 ? sp_load(rbp_at) : start_rbp;
    caller_sp += sp_rule_offset(rule);
    if (sp < lo || caller_sp <= sp || caller_sp - 8 > last || caller_sp - 8 - 8 * (uintptr_t)sp_rule_slot(rule) < sp)
        return 0;
    return caller_sp;
}

#endif
