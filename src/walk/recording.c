/* SPDX-License-Identifier: MIT */
#include "walk/recording.h"

const uint64_t sp_no_slot = UINT64_C(0x8000000000000001);

static void empty_row(struct sp_kept_row *row)
{
    row->first = row->end = SP_KEPT_ROOM;
}

static void copy_frames(struct sp_kept_row *to, unsigned to_first, const struct sp_kept_row *from, unsigned first,
                        unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        to->slot[to_first + i] = from->slot[first + i];
        to->pc[to_first + i] = from->pc[first + i];
        to->how[to_first + i] = from->how[first + i];
        if (!sp_kept_is_plain(from, first + i))
            to->other[to_first + i] = from->other[first + i];
    }
}

void sp_recording_leave_old(struct sp_recording *recording)
{
    unsigned count = recording->last + 1 - recording->reused, room = SP_KEPT_PLACES - 1 - recording->at;
    if (count > room)
        count = room;
    copy_frames(recording->new_row, recording->at, recording->old_row, recording->reused, count);
    recording->at += count;
    recording->reused = SP_NOT_REUSED;
}

void sp_recording_restart(struct sp_recording *recording)
{
    recording->at = SP_KEPT_ROOM;
    recording->reused = SP_NOT_REUSED;
}

static void set_start(struct sp_kept_row *row)
{
    row->start_pc = sp_kept_pc(row, row->first);
    row->start_sp = sp_kept_sp(row, row->first);
    row->is_interrupted = sp_how_flags(row->how[row->first]) & SP_KEPT_INTERRUPTED;
    row->is_whole = (sp_how_flags(row->how[row->end - 1]) & SP_KEPT_OUTERMOST) != 0;
}

static void keep_new_row(struct sp_recording *recording)
{
    recording->new_row->first = SP_KEPT_ROOM;
    recording->new_row->end = recording->at;
    if (recording->at != SP_KEPT_ROOM)
        set_start(recording->new_row);
    recording->memory->current ^= 1;
}

static void keep_old_row(struct sp_recording *recording)
{
    struct sp_kept_row *row = recording->old_row;
    unsigned new_count = recording->at - SP_KEPT_ROOM;
    if (new_count > recording->reused) {
        empty_row(row);
        return;
    }
    row->first = recording->reused - new_count;
    copy_frames(row, row->first, recording->new_row, SP_KEPT_ROOM, new_count);
    /* What the walk did not come to is not known to follow any more. */
    row->end = recording->last + 1;
    set_start(row);
}

/*
 * Of a walk's frames, one in FRAMES_A_KNOWN_ONE at least is from memory in a thread for which keeping them is worth its
 * time. In one whose stacks are new each time ever fewer walks are kept, one in 16 to one in 256.
 */
enum { FRAMES_A_KNOWN_ONE = 4, WALKS_STRANGE = 4, WALKS_STRANGE_MAX = WALKS_STRANGE + 5 };

void sp_recording_end(struct sp_recording *recording, int count)
{
    struct sp_memory *memory = recording->memory;
    unsigned known = recording->reused != SP_NOT_REUSED ? recording->last + 1 - recording->reused : 0;
    if (known * FRAMES_A_KNOWN_ONE >= (unsigned)count)
        memory->strange = 0;
    else if (memory->strange < WALKS_STRANGE_MAX)
        memory->strange++;
    if (memory->strange > WALKS_STRANGE)
        memory->unkept = (uint8_t)((8u << (memory->strange - WALKS_STRANGE)) - 1);
    /* Between the frames of a full row and those of the old one there may be others, for which there was no place. */
    if (recording->reused != SP_NOT_REUSED && recording->at != SP_KEPT_PLACES - 1)
        keep_old_row(recording);
    else
        keep_new_row(recording);
    sp_memory_give_back(memory);
}

void sp_recording_drop(struct sp_recording *recording)
{
    empty_row(recording->old_row);
    sp_memory_give_back(recording->memory);
}
