/* SPDX-License-Identifier: MIT */
#include "walk/recording.h"

const uint64_t sp_no_slot = UINT64_C(0x8000000000000001);

static struct sp_kept_frame *row_start(struct sp_kept_row *row)
{
    return row->frames + SP_KEPT_ROOM;
}

static void empty_row(struct sp_kept_row *row)
{
    row->first = row->end = SP_KEPT_ROOM;
    row_start(row)->sp = UINTPTR_MAX;
}

static void copy_frames(struct sp_kept_frame *to, const struct sp_kept_frame *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

void sp_recording_leave_old(struct sp_recording *recording, const struct sp_kept_frame *left)
{
    size_t count = (size_t)(left + 1 - recording->reused), room = (size_t)(recording->limit - recording->at);
    if (count > room)
        count = room;
    copy_frames(recording->at, recording->reused, count);
    recording->at += count;
    recording->reused = NULL;
}

void sp_recording_restart(struct sp_recording *recording)
{
    recording->at = row_start(recording->new_row);
    recording->guess = recording->old_row->frames + recording->old_row->first;
    recording->reused = NULL;
}

static void keep_new_row(struct sp_recording *recording)
{
    struct sp_kept_row *row = recording->new_row;
    row->first = SP_KEPT_ROOM;
    row->end = (uint32_t)(recording->at - row->frames);
    recording->at->sp = UINTPTR_MAX;
    recording->memory->current ^= 1;
}

static void keep_old_row(struct sp_recording *recording)
{
    struct sp_kept_row *row = recording->old_row;
    const struct sp_kept_frame *first_new = row_start(recording->new_row);
    size_t new_count = (size_t)(recording->at - first_new);
    uint32_t index = (uint32_t)(recording->reused - row->frames);
    if (new_count > index) {
        empty_row(row);
        return;
    }
    copy_frames(recording->reused - new_count, first_new, new_count);
    row->first = index - (uint32_t)new_count;
    /* What the walk did not come to is not known to follow any more. */
    row->end = (uint32_t)(recording->last - row->frames) + 1;
    row->frames[row->end].sp = UINTPTR_MAX;
}

void sp_recording_end(struct sp_recording *recording)
{
    if (recording->reused != NULL)
        keep_old_row(recording);
    else
        keep_new_row(recording);
    sp_memory_give_back(recording->memory);
}

void sp_recording_drop(struct sp_recording *recording)
{
    empty_row(recording->old_row);
    sp_memory_give_back(recording->memory);
}
