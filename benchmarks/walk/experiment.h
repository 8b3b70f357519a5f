/* SPDX-License-Identifier: MIT */
/*
 * One experiment: some walkers, one kind of stack, many rounds.
 *
 * A round of SP_REPEATED times some walks in a row by each walker, on one stack. A round of the other states is a block
 * of stacks, each walked once by each walker; its sample is the mean, with the clock's own time taken off. The walkers
 * walk in a new random order each time. A walker whose answer is not the chain's own is left out, and said to be wrong.
 */
#ifndef EXPERIMENT_H
#define EXPERIMENT_H

#include "chain.h"
#include "history.h"
#include "walker.h"

#include <stdbool.h>

enum { WALKERS_MAX = 9, ROUNDS_MAX = 4000, PCS_MAX = 1024 };

enum state {
    STATE_REPEATED, /* the same stack again and again */
    STATE_CHANGING, /* inner frames change, outer ones stay */
    STATE_NEVER,    /* a new stack each time; each of the 50,000 return addresses is in one only */
};

struct samples {
    bool wrong;            /* some answer was not the chain's own */
    int frames;            /* that a walk found; on the last stack */
    int batch;             /* walks in a row */
    double ns[ROUNDS_MAX]; /* a walk */
};

struct experiment {
    enum state state;
    bool context;      /* a signal interrupts at each stack, and every other one is walked from its ucontext */
    int rounds;        /* at most ROUNDS_MAX; fewer are made where return addresses run out */
    double mean_depth; /* STATE_CHANGING: the mean number of frames that change */
    int walker_count;
    const struct walker *walkers[WALKERS_MAX];
    struct chain chain;

    struct samples samples[STARTS][WALKERS_MAX];
    struct history history;
};

/* Fills samples and history, and sets rounds to those that were made. */
void experiment_run(struct experiment *experiment);

#endif
