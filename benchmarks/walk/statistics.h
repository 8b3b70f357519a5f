/* SPDX-License-Identifier: MIT */
#ifndef STATISTICS_H
#define STATISTICS_H

/* The middle and the spread of some samples. */
struct quartiles {
    double first, median, third;
};

/* Of count > 0 values, which are sorted in place. */
struct quartiles quartiles_of(double *values, int count);

/* Of the ratios value[i] / reference[i]. scratch: room for count values. */
struct quartiles quartiles_of_ratios(const double *values, const double *references, int count, double *scratch);

#endif
