/* SPDX-License-Identifier: MIT */
/*
 * A run of frames that are left by their words: where most of a walk's time goes.
 *
 * Each function puts frames from run->pc, run->sp on, at most `room` > 0, as long as they are left by their words; run
 * then is the frame after them. The word at run->sp can be read. Returns how many.
 */
#ifndef SPWALK_RUN_H
#define SPWALK_RUN_H

#include "walk/thread.h"
#include "word/coverage.h"

struct sp_run {
    uintptr_t pc, sp;
    struct sp_coverage coverage;
    uintptr_t last_sp; /* the run goes on as long as the caller's SP is not above this, where a word can be read */
};

int sp_run_put_pcs(struct sp_run *run, void **pcs, int room);
int sp_run_put_frames(struct sp_run *run, struct sp_frame *frames, int room);

/*
 * After the run of `count` frames that began at sp: where the last of them that saves its rbp does so, and SP of the
 * last one. What there is none of is let be.
 */
void sp_run_look_back(const struct sp_run *run, uintptr_t sp, int count, uintptr_t *rbp_at, uintptr_t *left_sp);

/* Puts frames, and keeps them in the row from place `at` on, all of them as plainly come to. */
int sp_run_keep_pcs(struct sp_run *run, void **pcs, int room, struct sp_kept_row *row, unsigned at);
int sp_run_keep_frames(struct sp_run *run, struct sp_frame *frames, int room, struct sp_kept_row *row, unsigned at);

#endif
