/* SPDX-License-Identifier: MIT */
/* Every walk begins here: is it the last one again, and is it to be kept? */
#include "walk/general.h"
#include "walk/start.h"

#include <stddef.h>

/* The walk that the thread's last one was, if it is that again; else 0. */
static inline int repeat(const struct sp_start *start, const struct sp_sink *sink, const struct sp_kept_row *row)
{
    if (sink->pcs == NULL || row->start_sp != start->sp || row->start_pc != start->pc)
        return 0;
    struct sp_bounds bounds = sp_bounds_of(start->sp, &sp_thread.stacks);
    return sp_ahead_repeat(row, start->interrupted, start->rbp, sink->pcs, sink->max, &bounds);
}

int sp_walk_fast(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
{
    struct sp_memory *memory = sp_memory_take((uintptr_t)&memory);
    int n = 0;
    if (memory != NULL)
        n = repeat(start, sink, &memory->rows[memory->current]);
    if (n != 0) {
        sp_memory_give_back(memory);
        *end = SP_END_OUTERMOST;
        return n;
    }
    if (memory != NULL && memory->unkept == 0) {
        n = sink->pcs != NULL ? sp_walk_and_keep_pcs(start, sink, end, memory)
                              : sp_walk_and_keep_frames(start, sink, end, memory);
    } else {
        /* A thread whose stacks are new each time keeps one walk in many, to see whether that has changed. */
        if (memory != NULL)
            memory->unkept--;
        n = sink->pcs != NULL ? sp_walk_pcs(start, sink, end, memory) : sp_walk_frames(start, sink, end, memory);
    }
    return n >= 0 ? n : sp_walk_full(start, sink, end);
}
