/* SPDX-License-Identifier: MIT */
/*
 * Which blocks can the program still get at? A conservative search for pointers, as a garbage collector does it: from
 * the writable mappings that are not heap, the threads' stacks above SP and their registers, and from block to block. A
 * word that is the address of any byte of a block counts as a pointer to it.
 */
#ifndef SPWALK_LEAKS_SCAN_H
#define SPWALK_LEAKS_SCAN_H

#include "leaks/live.h"
#include "leaks/maps.h"
#include "leaks/stop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Gives each block its class. The other threads are stopped meanwhile, and told of in threads; maps: the mappings now.
 * sp: from where on the calling thread's stack counts. Returns false where it could not be done; all are then UNKNOWN.
 */
bool leaks_scan(struct leaks_live_list *list, const struct leaks_maps *maps, uintptr_t sp,
                const struct leaks_stopped *threads, size_t thread_count);

#endif
