/* SPDX-License-Identifier: MIT */
#include "statistics.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Linear between the two nearest ranks. */
static double quantile(const double *sorted, int count, double part)
{
    double rank = part * (count - 1);
    int below = (int)rank;
    int above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (rank - below) * (sorted[above] - sorted[below]);
}

struct quartiles quartiles_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return (struct quartiles){quantile(values, count, 0.25), quantile(values, count, 0.5),
                              quantile(values, count, 0.75)};
}

struct quartiles quartiles_of_ratios(const double *values, const double *references, int count, double *scratch)
{
    for (int i = 0; i < count; i++)
        scratch[i] = values[i] / references[i];
    return quartiles_of(scratch, count);
}
