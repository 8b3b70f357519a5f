/* SPDX-License-Identifier: MIT */
/*
 * Which blocks can the program still get at? A conservative search for pointers, as a garbage collector does it: from
 * the writable mappings that are not heap, the threads' stacks above SP and their registers, and from block to block. A
 * word that is the address of any byte of a block counts as a pointer to it.
 */
#ifndef SPWALK_LEAKS_SCAN_H
#define SPWALK_LEAKS_SCAN_H

#include "leaks/data.h"
#include "leaks/maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leaks_live {
    uintptr_t address;
    uint32_t record;
    uint8_t class; /* enum leaks_class */
    uint8_t is_hidden, is_inherited;
};

struct leaks_live_list {
    struct leaks_live *blocks; /* by address */
    uint64_t *sizes;           /* of the same */
    size_t count, room;
};

/* All blocks that have a record now. false where memory is short. */
bool leaks_live_list_make(struct leaks_live_list *list);
void leaks_live_list_free(struct leaks_live_list *list);

/*
 * Gives each block its class. sp: from where on the calling thread's stack counts. The other threads are stopped
 * meanwhile; *unanswered is how many could not be. Returns false where it could not be done; all are then UNKNOWN.
 */
bool leaks_scan(struct leaks_live_list *list, uintptr_t sp, uint32_t *unanswered);

#endif
