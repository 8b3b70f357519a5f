/* SPDX-License-Identifier: MIT */
/*
 * The walk of whatever stack, to each of the two sinks, and kept or not. Those that are kept are so in `memory`, which
 * the walk has; they give it back. Each returns how many frames it has put, and -1 where the walk must be a full one.
 */
#ifndef SPWALK_GENERAL_H
#define SPWALK_GENERAL_H

#include "walk/ahead.h"
#include "walk/start.h"
#include "walk/thread.h"

/* With the thread's memory it knows its outermost frames, and gives it back. */
int sp_walk_pcs(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end, struct sp_memory *memory);
int sp_walk_frames(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end);
int sp_walk_and_keep_pcs(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                         struct sp_memory *memory);
int sp_walk_and_keep_frames(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                            struct sp_memory *memory);

#endif
