/* SPDX-License-Identifier: MIT */
/* A program that knows nothing of spwalk. */
#include <stdio.h>
#include <stdlib.h>

#include "part.h"

static int compare(const void *a, const void *b)
{
    return part_compare(*(const int *)a, *(const int *)b);
}

int main(void)
{
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], compare);
    printf("%d %d %d\n", numbers[0], numbers[1], numbers[2]);
    return 0;
}
