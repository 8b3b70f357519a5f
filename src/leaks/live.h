/* SPDX-License-Identifier: MIT */
/* The blocks that have a record now, by address. */
#ifndef SPWALK_LEAKS_LIVE_H
#define SPWALK_LEAKS_LIVE_H

#include "leaks/maps.h"
#include "leaks/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leaks_live {
    uintptr_t address;
    uint8_t class; /* enum leaks_class */
    uint8_t is_hidden, is_inherited;
    uint8_t is_damaged; /* its record was overwritten */
};

/* Three arrays with the same indices, so that a search reads no more than it needs. */
struct leaks_live_list {
    struct leaks_live *blocks;
    uint64_t *sizes;
    struct leaks_record *records; /* copies */
    size_t count, room;
};

/*
 * The other threads are stopped meanwhile. maps: the mappings now; what looks like a block and lies in none of them
 * (one that was unmapped, and not by free) is left out. false where memory is short.
 */
bool leaks_live_list_make(struct leaks_live_list *list, const struct leaks_maps *maps);
void leaks_live_list_free(struct leaks_live_list *list);

#endif
