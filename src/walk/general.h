/* SPDX-License-Identifier: MIT */
/*
 * The walk of whatever stack, from where *progress says, to each of the two sinks, and kept or not; where it is kept,
 * the thread's memory is given back at its end. Each returns how many frames have been put in all, and -1 where the
 * walk must be a full one.
 */
#ifndef SPWALK_GENERAL_H
#define SPWALK_GENERAL_H

#include "walk/progress.h"

int sp_walk_pcs(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                struct sp_progress *progress);
int sp_walk_frames(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                   struct sp_progress *progress);
int sp_walk_and_keep_pcs(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                         struct sp_recording *recording, struct sp_progress *progress);
int sp_walk_and_keep_frames(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                            struct sp_recording *recording, struct sp_progress *progress);

#endif
