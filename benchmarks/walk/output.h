/* SPDX-License-Identifier: MIT */
/* Prints an experiment's samples: medians and quartiles of times, and of the ratios within each round. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "experiment.h"
#include "statistics.h"

/* As CSV: the line of column names, and a line for each start and walker. stack and depth are printed as they are. */
void output_columns(void);
void output_rows(const struct experiment *experiment, const char *stack, int depth);

/* As a table to be read: ns, half the distance of the quartiles in percent, and the median ratios. */
void output_table_head(void);
void output_table(const struct experiment *experiment);

/* A row that was measured otherwise. */
struct short_row {
    const char *state, *start, *walker;
    struct quartiles ns; /* a walk */
    int frames;
    double ratios[3]; /* to the chase, to unw_backtrace, to the walk from its caller; negative: none */
};
void output_short_row(const struct short_row *row);

/* "repeated", "changing" or "never". */
const char *output_state_name(enum state state);

#endif
