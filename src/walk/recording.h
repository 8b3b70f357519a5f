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

#include "walk/thread.h"

enum { SP_NOT_REUSED = UINT32_MAX };

struct sp_recording {
    struct sp_memory *memory;
    struct sp_kept_row *old_row, *new_row;
    unsigned at;     /* where the next new frame goes; SP_KEPT_PLACES - 1: the new row is full */
    unsigned reused; /* the old frame where the walk came onto the old row, or SP_NOT_REUSED */
    unsigned last;   /* the old frame that it is on, or ended on, where it is on the old row */
};

/*
 * Of a walk's frames, one in FRAMES_A_KNOWN_ONE at least is from memory in a thread for which keeping them is worth its
 * time. In one whose stacks are new each time ever fewer walks are kept, one in 16 to one in 256.
 */
enum { SP_FRAMES_A_KNOWN_ONE = 4, SP_WALKS_STRANGE = 4, SP_WALKS_STRANGE_MAX = SP_WALKS_STRANGE + 5 };

/* Notes that a kept walk knew so many of its `count` frames. */
static inline void sp_memory_note(struct sp_memory *memory, unsigned known, unsigned count)
{
    if (known * SP_FRAMES_A_KNOWN_ONE >= count)
        memory->strange = 0;
    else if (memory->strange < SP_WALKS_STRANGE_MAX)
        memory->strange++;
    if (memory->strange > SP_WALKS_STRANGE)
        sp_thread.unkept = (uint8_t)((8u << (memory->strange - SP_WALKS_STRANGE)) - 1);
}

/* A recording in the thread's memory, which the walk has. */
static inline void sp_recording_begin(struct sp_recording *recording, struct sp_memory *memory)
{
    recording->memory = memory;
    recording->old_row = memory->row;
    recording->new_row = sp_memory_other_row(memory);
    recording->at = SP_KEPT_ROOM;
    recording->reused = SP_NOT_REUSED;
}

/* The walk leaves the old row after frame `last`: the frames that it was on there become new ones. */
void sp_recording_leave_old(struct sp_recording *recording);

/* The walk went to another stack: only that one is kept. */
void sp_recording_restart(struct sp_recording *recording);

/* Makes what was recorded the thread's last walk, of `count` frames. */
void sp_recording_end(struct sp_recording *recording, int count);

/* Drops what was recorded. */
void sp_recording_drop(struct sp_recording *recording);

#endif
