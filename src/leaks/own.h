/* SPDX-License-Identifier: MIT */
/*
 * Memory of the detector's own, mapped apart from the program's heap. It is known range by range, because a scan for
 * pointers to blocks must not find those in the detector's own tables.
 */
#ifndef SPWALK_LEAKS_OWN_H
#define SPWALK_LEAKS_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leaks_range {
    uintptr_t start, end;
};

/* Fresh zeroed pages that are never given back, or NULL. They take memory only where they are touched, and no huge
 * pages. */
void *leaks_own_map(size_t size);

/* Range number `index`; false past the last. */
bool leaks_own_range(size_t index, struct leaks_range *range);

/* How many bytes were mapped. */
uint64_t leaks_own_size(void);

#endif
