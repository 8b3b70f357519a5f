/* SPDX-License-Identifier: MIT */
/* What the stacks of an experiment had in common: the proof that "never seen" is what it says. */
#ifndef HISTORY_H
#define HISTORY_H

#include "chain.h"

struct history {
    double same;  /* mean share of the frames that return to where the same frame of the stack before did */
    double fresh; /* mean share of the frames whose return address was in no stack before */
};

/* Forgets all stacks. */
void history_clear(void);

/* From now on stacks are counted; those before are only what a later one may have in common with. */
void history_count(void);

/* Notes the chain's stack; of so many stacks, later ones are not noted. Costs the measurement a copy of a few lines. */
void history_add(const struct chain *chain);

/* Of all stacks that were counted. */
struct history history_of_stacks(void);

#endif
