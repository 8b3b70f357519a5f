/* SPDX-License-Identifier: MIT */
/* Every walk begins here: is it the last one again, and is it to be kept? */
#include "walk/general.h"
#include "walk/start.h"

#include <stddef.h>

/* The walk in general: of whatever stack, to whatever sink. */
static int walk_any(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
{
    struct sp_memory *memory = sp_memory_take((uintptr_t)&memory);
    if (memory != NULL && memory->unkept != 0) {
        memory->unkept--;
        sp_memory_give_back(memory);
        memory = NULL;
    }
    if (sink->frames != NULL)
        return memory != NULL ? sp_walk_and_keep_frames(start, sink, end, memory) : sp_walk_frames(start, sink, end);
    return memory != NULL ? sp_walk_and_keep_pcs(start, sink, end, memory) : sp_walk_pcs(start, sink, end, NULL);
}

int sp_walk_fast(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
{
    struct sp_memory *memory = sp_thread.memory;
    int n = 0;
    if (sink->pcs == NULL || memory == NULL || memory->walk_sp != 0) {
        n = walk_any(start, sink, end);
        return n >= 0 ? n : sp_walk_full(start, sink, end);
    }

    sp_memory_hold(memory, (uintptr_t)&memory);
    const struct sp_kept_row *row = &memory->rows[memory->current];
    if (row->start_sp == start->sp && row->start_pc == start->pc) {
        struct sp_bounds bounds = sp_bounds_of(start->sp, &sp_thread.stacks);
        n = sp_ahead_repeat(row, start->interrupted, start->rbp, sink->pcs, sink->max, &bounds);
    }
    if (n != 0) {
        sp_memory_give_back(memory);
        *end = SP_END_OUTERMOST;
        return n;
    }
    if (memory->unkept != 0) {
        memory->unkept--;
        n = sp_walk_pcs(start, sink, end, memory);
    } else {
        n = sp_walk_and_keep_pcs(start, sink, end, memory);
    }
    return n >= 0 ? n : sp_walk_full(start, sink, end);
}
