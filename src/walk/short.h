/* SPDX-License-Identifier: MIT */
/*
 * Two kinds of walk that make up nearly all that are no repeated ones. Each has a short way, since each line of code
 * that has to be fetched is a good part of the time that such a walk takes. A first frame, which may be interrupted,
 * words, and then
 *
 *     stride    the outermost frames, which are those of the row, the thread's last kept walk; nothing is kept
 *     splice    the frames that are ahead, to the outermost one; the walk is kept, and its memory given back
 *
 * Both return how many pcs they have put of a walk that is whole, or 0 where it is another one: *progress then is how
 * far it has got.
 */
#ifndef SPWALK_SHORT_H
#define SPWALK_SHORT_H

#include "walk/progress.h"

int sp_stride(const struct sp_start *start, const struct sp_sink *sink, const struct sp_kept_row *row,
              struct sp_progress *progress);
int sp_splice(const struct sp_start *start, const struct sp_sink *sink, struct sp_recording *recording,
              struct sp_progress *progress);

#endif
