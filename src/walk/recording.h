/* SPDX-License-Identifier: MIT */
/*
 * The frames of a walk on their way to being remembered (thread.h).
 *
 *     old row    the last walk's frames; the walk may come onto it at some frame and follow it from there
 *     new row    the frames that are not on the old row
 *
 * At the end the new frames are put in front of the part of the old row that the walk ended on, or, where it ended
 * elsewhere, the new row is the one to remember.
 */
#ifndef SPWALK_RECORDING_H
#define SPWALK_RECORDING_H

#include "walk/step.h"
#include "walk/thread.h"

#include <stddef.h>

struct sp_recording {
    struct sp_memory *memory; /* NULL: nothing is kept */
    struct sp_kept_row *old_row, *new_row;
    struct sp_kept_frame *at;     /* where the next new frame goes */
    struct sp_kept_frame *limit;  /* the new row's end */
    struct sp_kept_frame *guess;  /* the old frame that the walk comes to next, if to any */
    struct sp_kept_frame *reused; /* the old frame where the walk came onto the old row; NULL: it is not on it */
    struct sp_kept_frame *last;   /* where the walk is, or ended: the frame's record */
    struct sp_kept_frame spare;   /* written where the new row is full */
};

/* A word that equals no pc: no address is like it. Not 0, which is the pc beyond a coroutine's first frame. */
extern const uint64_t sp_no_slot;

/* Takes the thread's memory; recording->memory is NULL where there is none. */
static inline void sp_recording_begin(struct sp_recording *recording, uintptr_t walker_sp)
{
    struct sp_memory *memory = recording->memory = sp_memory_take(walker_sp);
    if (memory == NULL)
        return;
    recording->old_row = &memory->rows[memory->current];
    recording->new_row = &memory->rows[memory->current ^ 1];
    recording->at = recording->new_row->frames + SP_KEPT_ROOM;
    recording->limit = recording->at + SP_KEPT_FRAMES;
    recording->guess = recording->old_row->frames + recording->old_row->first;
    recording->reused = NULL;
}

/* The walk has left the old row after `left`: the frames it was on there become new ones. */
void sp_recording_leave_old(struct sp_recording *recording, const struct sp_kept_frame *left);

/* The walk went to another stack: only that one is kept. */
void sp_recording_restart(struct sp_recording *recording);

/* Makes what was recorded the thread's last walk. */
void sp_recording_end(struct sp_recording *recording);

/* The same where the walk was on the old row from its first frame to its last: nothing is new. */
static inline bool sp_recording_end_unchanged(struct sp_recording *recording)
{
    struct sp_kept_row *row = recording->old_row;
    if (recording->reused != row->frames + row->first || recording->last != row->frames + row->end - 1 ||
        recording->at != recording->new_row->frames + SP_KEPT_ROOM)
        return false;
    sp_memory_give_back(recording->memory);
    return true;
}

/* Drops what was recorded. */
void sp_recording_drop(struct sp_recording *recording);

#endif
