/* SPDX-License-Identifier: MIT */
#include "walk/recording.h"

const uint64_t sp_no_slot = UINT64_C(0x8000000000000001);

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

static void set_outermost(struct sp_memory *memory)
{
    const struct sp_kept_row *row = memory->row;
    memory->outermost = 0;
    uint32_t count = 0, first = row->end;
    do {
        if (++count > SP_OUTERMOST || first-- == row->first + 1 || !sp_kept_is_plain(row, first))
            return;
    } while (!sp_how_is_word(row->how[first - 1]));
    for (uint32_t i = 0; i < count; i++) {
        memory->outermost_slot[i] = row->slot[first + i];
        memory->outermost_pc[i] = row->pc[first + i];
    }
    memory->outermost = count;
}

/* What is known of all of the walk in the memory's row. */
static void set_walk(struct sp_memory *memory)
{
    const struct sp_kept_row *row = memory->row;
    memory->start_pc = sp_kept_pc(row, row->first);
    memory->start_sp = sp_kept_sp(row, row->first);
    memory->is_interrupted = sp_how_flags(row->how[row->first]) & SP_KEPT_INTERRUPTED;
    memory->is_whole = (sp_how_flags(row->how[row->end - 1]) & SP_KEPT_OUTERMOST) != 0;
    if (memory->is_whole)
        set_outermost(memory);
}

static void keep_new_row(struct sp_recording *recording)
{
    struct sp_memory *memory = recording->memory;
    memory->row = recording->new_row;
    if (recording->at == SP_KEPT_ROOM) {
        sp_memory_empty(memory);
        return;
    }
    recording->new_row->first = SP_KEPT_ROOM;
    recording->new_row->end = recording->at;
    set_walk(memory);
}

static void keep_old_row(struct sp_recording *recording)
{
    struct sp_kept_row *row = recording->old_row;
    unsigned new_count = recording->at - SP_KEPT_ROOM;
    if (new_count > recording->reused) {
        sp_memory_empty(recording->memory);
        return;
    }
    row->first = recording->reused - new_count;
    copy_frames(row, row->first, recording->new_row, SP_KEPT_ROOM, new_count);
    /* What the walk did not come to is not known to follow any more. */
    row->end = recording->last + 1;
    set_walk(recording->memory);
}

void sp_recording_end(struct sp_recording *recording, int count)
{
    struct sp_memory *memory = recording->memory;
    unsigned known = recording->reused != SP_NOT_REUSED ? recording->last + 1 - recording->reused : 0;
    sp_memory_note(memory, known, (unsigned)count);
    /* Between the frames of a full row and those of the old one there may be others, for which there was no place. */
    if (recording->reused != SP_NOT_REUSED && recording->at != SP_KEPT_PLACES - 1)
        keep_old_row(recording);
    else
        keep_new_row(recording);
    sp_memory_give_back(memory);
}

void sp_recording_drop(struct sp_recording *recording)
{
    sp_memory_empty(recording->memory);
    sp_memory_give_back(recording->memory);
}
