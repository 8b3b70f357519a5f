/* SPDX-License-Identifier: MIT */
/*
 * The walk of whatever stack, to each of the two sinks, and kept or not. The thread's memory, which the walk has, is
 * given back. Each returns how many frames it has put, and -1 where the walk must be a full one.
 */
#ifndef SPWALK_GENERAL_H
#define SPWALK_GENERAL_H

#include "walk/ahead.h"
#include "walk/start.h"
#include "walk/thread.h"

/* Not kept; memory may be NULL. Where it is not, the first of them knows the stack's outermost frames by it. */
int sp_walk_pcs(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end, struct sp_memory *memory);
int sp_walk_frames(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                   struct sp_memory *memory);
int sp_walk_and_keep_pcs(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                         struct sp_memory *memory);
int sp_walk_and_keep_frames(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                            struct sp_memory *memory);

#endif
