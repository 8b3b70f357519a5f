/* SPDX-License-Identifier: MIT */
/* A library that leaks; built twice, with FUNCTION and SIZE, so that the second takes the first's place in memory. */
#include <stdlib.h>

void *volatile sink;

__attribute__((visibility("default"))) void FUNCTION(void)
{
    sink = malloc(SIZE);
    sink = NULL;
}
