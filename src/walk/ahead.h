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
#include "walk/thread.h"

struct sp_ahead {
    uintptr_t sp;  /* of the frame `next`; UINTPTR_MAX: there is none to come to */
    unsigned next; /* the innermost frame that the walk may come to and then goes on to `to` */
    unsigned to;
    unsigned stride;  /* of the looks at later frames, where it did not come to `next` */
    uintptr_t rbp_at; /* the lowest place at which an rbp was read, for `next` or a frame after it; UINTPTR_MAX:
                         none was */
};

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
 * The row's pcs from its first frame on, where the walk is, if there are no more than max, each still is plainly come
 * to, or the second one by the rbp that the walk starts with, and the last one has no caller. Else 0; pcs may have been
 * written then.
 */
int sp_ahead_repeat(const struct sp_kept_row *row, bool interrupted, uintptr_t rbp, void **pcs, int max,
                    const struct sp_bounds *bounds);

#endif
