/* SPDX-License-Identifier: MIT */
/*
 * What a walk may expect of the frames ahead of it: which of the last walk's it will go on to, once it has come to one.
 *
 * The stack's outer part rarely changes between two walks. So the last walk's frames are gone through from the
 * outermost inwards, as long as the words that show each are still as they were. A walk that comes to any of those
 * frames, same pc and same SP, goes on to the outer ones: that needs no more looking, whichever way it came.
 */
#ifndef SPWALK_AHEAD_H
#define SPWALK_AHEAD_H

#include "walk/bounds.h"
#include "walk/load.h"
#include "walk/thread.h"

#include <emmintrin.h>

struct sp_ahead {
    uintptr_t sp;  /* of the frame `next`; UINTPTR_MAX: there is none to come to */
    unsigned next; /* the innermost frame that the walk may come to and then goes on to `to` */
    unsigned to;
    unsigned stride;  /* of the looks at later frames, where it did not come to `next` */
    uintptr_t rbp_at; /* the lowest place at which an rbp was read, for `next` or a frame after it; UINTPTR_MAX:
                         none was */
};

enum {
    SP_AHEAD_BLOCK = 8,
    /*
     * Where stacks meet they are the same from there on, so after a miss it is enough to look now and then: a look at
     * each frame would cost a mispredicted branch at each.
     */
    SP_AHEAD_FIRST_STRIDE = 8,
};

static inline __m128i sp_load_two(const uintptr_t *slots)
{
    __m128i two;
    __asm__("movq %1, %0" : "=x"(two) : "m"(*(const uint64_t *)slots[0]));
    __asm__("movhps %1, %0" : "+x"(two) : "m"(*(const uint64_t *)slots[1]));
    return two;
}

static inline __m128i sp_ahead_difference(const uintptr_t *slots, const uint64_t *pcs)
{
    return _mm_xor_si128(sp_load_two(slots), _mm_loadu_si128((const __m128i *)pcs));
}

/* Whether the slots of a block of frames hold their pcs. */
static inline bool sp_ahead_is_block_plain(const uintptr_t *slots, const uint64_t *pcs)
{
    __m128i inner = _mm_or_si128(sp_ahead_difference(slots, pcs), sp_ahead_difference(slots + 2, pcs + 2));
    __m128i outer = _mm_or_si128(sp_ahead_difference(slots + 4, pcs + 4), sp_ahead_difference(slots + 6, pcs + 6));
    __m128i none = _mm_cmpeq_epi8(_mm_or_si128(inner, outer), _mm_setzero_si128());
    return _mm_movemask_epi8(none) == 0xFFFF;
}

/* Whether frame i is still come to from the one before, whose rule is CFA = rbp + 16, with its rbp saved at *rbp_at. */
bool sp_ahead_is_come_to_by_rbp(const struct sp_kept_row *row, int i, uintptr_t lowest, uintptr_t *rbp_at);

/*
 * Of the frames from .. to, the innermost that a walk at sp may come to and then goes on to `to`; to + 1 where there is
 * none. *rbp_at: as in struct sp_ahead. The slot of `to` can be read, and so all can that are not below sp: they
 * ascend.
 */
static inline __attribute__((always_inline)) int sp_ahead_find(const struct sp_kept_row *row, int from, int to,
                                                               uintptr_t sp, uintptr_t *rbp_at)
{
    *rbp_at = UINTPTR_MAX;
    for (int i = to;; i--) {
        /* Frame by frame from the outermost inwards: whether its slot shows that it is come to from the one before. */
        while (i - from >= SP_AHEAD_BLOCK - 1) {
            const int lowest = i - SP_AHEAD_BLOCK + 1;
            if (row->slot[lowest] < sp || !sp_kept_is_plain(row, (unsigned)lowest) ||
                !sp_ahead_is_block_plain(&row->slot[lowest], &row->pc[lowest]))
                break;
            i -= SP_AHEAD_BLOCK;
        }
        while (i >= from && row->slot[i] >= sp && sp_load(row->slot[i]) == row->pc[i])
            i--;
        if (i < from)
            return from;
        /* Its slot has another pc, or is below sp, where the walk itself may be. */
        if (sp_kept_is_plain(row, (unsigned)i))
            return row->slot[i] == sp - 8 ? i : i + 1;
        if (row->other[i].sp < sp)
            return i + 1;
        uintptr_t at;
        if (i == from || sp_kept_sp(row, (unsigned)i - 1) < sp || !sp_ahead_is_come_to_by_rbp(row, i, sp, &at))
            return i;
        if (at < *rbp_at)
            *rbp_at = at;
    }
}

/*
 * Looks ahead of a walk that is at sp, at the frames of the row from `from` on, at most `room` of them beyond the next.
 * Reads only words from sp on that the stack's bounds hold.
 */
void sp_ahead_look(struct sp_ahead *ahead, const struct sp_kept_row *row, unsigned from, int room, uintptr_t sp,
                   const struct sp_bounds *bounds);

/* Whether a walk at sp may have come to a frame ahead. An interrupted frame's sp can be any number, the highest too. */
static inline bool sp_ahead_is_reached(const struct sp_ahead *ahead, uintptr_t sp)
{
    return sp >= ahead->sp && ahead->sp != UINTPTR_MAX;
}

/* Whether the walk, at (pc, sp) that reaches what is ahead, is at ahead->next; where it is not, another frame becomes
 * that.
 */
bool sp_ahead_is_met(struct sp_ahead *ahead, const struct sp_kept_row *row, uintptr_t pc, uintptr_t sp,
                     bool interrupted);

/*
 * The walk is at ahead->next, whose rbp is saved at rbp_at. Shortens what is ahead to the frames that are come to
 * plainly, by that rbp, or by one that is saved in the frames ahead.
 */
void sp_ahead_keep_by_rbp(struct sp_ahead *ahead, const struct sp_kept_row *row, uintptr_t rbp_at);

/*
 * The last walk's pcs, where this one starts as it did, if there are no more than max, each still is plainly come
 * to by a word not above last, or the second one by the rbp that the walk starts with, and the last one has no caller.
 * Else 0; pcs may have been written then.
 */
int sp_ahead_repeat(const struct sp_memory *memory, bool interrupted, uintptr_t rbp, void **pcs, int max,
                    uintptr_t last);

#endif
