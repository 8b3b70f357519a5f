/* SPDX-License-Identifier: MIT */
/* The walks that have no short way (backtrace.c): is one to be kept? */
#include "walk/general.h"
#include "walk/start.h"

#include <stddef.h>

/* A walk on one stack that has come to its end may show that the walk that has the memory was left by a longjmp. */
static void regain_memory(const struct sp_start *start, uintptr_t here)
{
    if (start->ucontext == NULL)
        sp_memory_regain(start->sp, start->sp);
    else if (here < start->sp && !sp_leaves_alternate_stack((uintptr_t)start->ucontext, start->sp))
        sp_memory_regain(here, start->sp);
}

int sp_walk_fast(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
{
    struct sp_progress progress;
    struct sp_recording recording;
    struct sp_bounds bounds = sp_bounds_of(start->sp, &sp_thread.stacks);
    struct sp_memory *memory = sp_memory_take((uintptr_t)&memory);
    int n;
    sp_progress_begin(&progress, start, &bounds);
    if (memory != NULL && sp_thread.unkept == 0) {
        sp_recording_begin(&recording, memory);
        sp_ahead_look(&progress.ahead, recording.old_row, recording.old_row->first, sink->max - 1, start->sp, &bounds);
        n = sink->pcs != NULL ? sp_walk_and_keep_pcs(start, sink, end, &recording, &progress)
                              : sp_walk_and_keep_frames(start, sink, end, &recording, &progress);
    } else {
        /* A thread whose stacks are new each time keeps one walk in many, to see whether that has changed. */
        if (memory != NULL) {
            sp_thread.unkept--;
            sp_memory_give_back(memory);
        }
        n = sink->pcs != NULL ? sp_walk_pcs(start, sink, end, &progress) : sp_walk_frames(start, sink, end, &progress);
    }
    if (memory == NULL && n > 0 && *end == SP_END_OUTERMOST && progress.stack_changes == 0)
        regain_memory(start, (uintptr_t)&memory);
    return n >= 0 ? n : sp_walk_full(start, sink, end);
}
