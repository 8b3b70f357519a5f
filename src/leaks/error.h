/* SPDX-License-Identifier: MIT */
/* Wrong uses of the heap, each kind at each place once, with a count. */
#ifndef SPWALK_LEAKS_ERROR_H
#define SPWALK_LEAKS_ERROR_H

#include "leaks/data.h"

#include <stddef.h>

enum { LEAKS_ERRORS_MAX = 4096 };

/* Adds one; where there is one with the same type and stacks already, its count goes up. Takes no lock. */
void leaks_error_add(const struct leaks_error *error);

/* Error number `index` as it is now; NULL past the last. */
const struct leaks_error *leaks_error_get(size_t index);

/* In the child of a fork: those of the parent are not its own. */
void leaks_error_forget(void);

#endif
