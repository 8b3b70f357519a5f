/* SPDX-License-Identifier: MIT */
#include "walk/recording.h"

const uint64_t sp_no_slot = 0;

static struct sp_kept_frame *row_start(struct sp_kept_row *row)
{
    return row->frames + SP_KEPT_ROOM;
}

static void empty_row(struct sp_kept_row *row)
{
    row->first = row->end = SP_KEPT_ROOM;
    row_start(row)->sp = UINTPTR_MAX;
    row->module_count = 0;
}

bool sp_recording_check_old(struct sp_recording *recording, struct sp_cursor *cursor)
{
    struct sp_kept_row *row = recording->old_row;
    bool is_valid = row->generation == __atomic_load_n(&sp_modules_generation, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < row->module_count && is_valid; i++)
        is_valid = sp_step_check_module(cursor, row->modules[i]);
    recording->is_old_checked = true;
    if (!is_valid) {
        empty_row(row);
        recording->guess = row_start(row);
    }
    return is_valid;
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

/* Adds a row's modules to a list of them. Returns how many these are, or UINT32_MAX where there is no room. */
static uint32_t add_modules(uintptr_t *modules, uint32_t count, const struct sp_kept_row *row)
{
    for (uint32_t i = 0; i < row->module_count; i++) {
        uint32_t k = 0;
        while (k < count && modules[k] != row->modules[i])
            k++;
        if (k < count)
            continue;
        if (count == SP_KEPT_MODULES)
            return UINT32_MAX;
        modules[count++] = row->modules[i];
    }
    return count;
}

static void keep_modules(struct sp_kept_row *row, const struct sp_recording *recording, uint32_t count,
                         uint32_t generation)
{
    row->module_count = count;
    row->generation = generation;
    for (uint32_t i = 0; i < count; i++)
        row->modules[i] = recording->modules[i];
}

static void keep_new_row(struct sp_recording *recording, uint32_t module_count, uint32_t generation)
{
    struct sp_kept_row *row = recording->new_row;
    row->first = SP_KEPT_ROOM;
    row->end = (uint32_t)(recording->at - row->frames);
    recording->at->sp = UINTPTR_MAX;
    keep_modules(row, recording, module_count, generation);
    recording->memory->current ^= 1;
}

static void keep_old_row(struct sp_recording *recording, uint32_t module_count, uint32_t generation)
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
    keep_modules(row, recording, module_count, generation);
}

void sp_recording_end(struct sp_recording *recording, const struct sp_cursor *cursor, uint32_t generation)
{
    uint32_t module_count = cursor->module_count < 0 ? UINT32_MAX : (uint32_t)cursor->module_count;
    if (module_count != UINT32_MAX)
        module_count = add_modules(recording->modules, module_count, recording->old_row);
    if (module_count == UINT32_MAX)
        empty_row(recording->old_row);
    else if (recording->reused != NULL)
        keep_old_row(recording, module_count, generation);
    else
        keep_new_row(recording, module_count, generation);
    sp_memory_give_back(recording->memory);
}

void sp_recording_drop(struct sp_recording *recording)
{
    empty_row(recording->old_row);
    sp_memory_give_back(recording->memory);
}
