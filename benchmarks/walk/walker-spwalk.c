/* SPDX-License-Identifier: MIT */
#include "walker.h"

#include <spwalk.h>
#include <stddef.h>

enum { FRAMES_MAX = 1024 };

static struct sp_frame frames[FRAMES_MAX];

static int backtrace_by_spwalk(const void *ucontext, void **pcs, int max)
{
    return ucontext ? sp_backtrace_context(ucontext, pcs, max) : sp_backtrace(pcs, max);
}

static int walk_by_spwalk(const void *ucontext, void **pcs, int max)
{
    (void)pcs;
    return sp_walk(ucontext, frames, max < FRAMES_MAX ? max : FRAMES_MAX, NULL);
}

static void copy_frames(void **pcs, int count)
{
    for (int i = 0; i < count; i++)
        pcs[i] = (void *)frames[i].pc;
}

const struct walker walker_sp_backtrace = {.name = "sp_backtrace", .walk = backtrace_by_spwalk};
const struct walker walker_sp_walk = {.name = "sp_walk", .walk = walk_by_spwalk, .result = copy_frames};
