/* SPDX-License-Identifier: MIT */
/*
 * What of the writable memory is no place of the program's to keep a pointer in: the heap (its blocks count by
 * themselves), the detector's own tables, the free part of stacks, and the stacks of threads that have ended, which the
 * C library keeps for new ones.
 */
#ifndef SPWALK_LEAKS_EXCLUDE_H
#define SPWALK_LEAKS_EXCLUDE_H

#include "leaks/maps.h"
#include "leaks/own.h"
#include "leaks/scan.h"
#include "leaks/stop.h"

#include <stdbool.h>

/* Finds them. sp: of the calling thread. Returns false where memory is short. */
bool leaks_exclude(const struct leaks_live_list *list, const struct leaks_maps *maps, uintptr_t sp,
                   const struct leaks_stopped *threads, size_t thread_count);

/* What was found, sorted by start. Ranges may overlap. */
const struct leaks_range *leaks_excluded(size_t *count);

#endif
