/* SPDX-License-Identifier: MIT */
/* The true chain of a strand, and the comparison of a walk with it. */
#ifndef STEP_TRUTH_H
#define STEP_TRUTH_H

#include "../area.h"
#include "strand.h"

#include <spwalk.h>

/* A chain as a walker gave it. */
struct step_walk {
    uint32_t n;
    int32_t end;   /* an enum sp_end */
    bool has_sp;   /* frames' sp is given too */
    bool has_end;  /* the walker tells a whole chain from a cut one */
    bool has_kind; /* frames' interrupted and size are given too */
    struct sp_frame frames[STEP_DEPTH_MAX];
};

/* Where a chain starts: at the state (pc, sp) and, after a transfer of control that was under way there, at the state
 * it led to. */
struct step_start {
    uintptr_t pc;
    uintptr_t sp;
    bool transferred;
    uintptr_t to_pc;
    uintptr_t to_sp;
};

/* Compares frame by frame; limit is the most frames the walker could give. *differs becomes the index of the first
 * frame that is not the truth's, or -1. */
enum step_verdict step_truth_compare(const struct step_strand *strand, const struct step_start *start,
                                     const struct step_walk *walk, uint32_t limit, int *differs);

/* Writes the truth itself, at most max frames; returns how many there are in all. */
uint32_t step_truth_frames(const struct step_strand *strand, const struct step_start *start, struct sp_frame *frames,
                           uint32_t max);

#endif
