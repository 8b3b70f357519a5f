/* SPDX-License-Identifier: MIT */
/* A table to look at while tuning: the four states at one depth, beside the chase and unw_backtrace, in seconds. */
#ifndef QUICK_H
#define QUICK_H

#include "experiment.h"

/* Fills in and runs the experiment of a state with these walkers. */
typedef const struct experiment *quick_perform(const void *options, enum state state, const char *walkers);

struct quick {
    const char *states;  /* names with commas between; "first" is one; NULL: all */
    const char *walkers; /* as --walkers; NULL: the usual ones */
    int depth;           /* of the first walks */
    bool half, context;  /* the same */
    const void *options; /* for perform */
    quick_perform *perform;
};

void quick_print(const struct quick *quick);

#endif
