/* SPDX-License-Identifier: MIT */
/* /proc/self/maps, read without the C library, so that a signal handler can do it and the loader's lock is not needed.
 */
#ifndef SPWALK_LEAKS_MAPS_H
#define SPWALK_LEAKS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leaks_mapping {
    uintptr_t start, end;
    uint64_t offset;
    bool is_readable, is_writable, is_executable, is_shared;
    const char *name; /* a path, "[heap]", ...; "" where it has none. Not terminated by 0 */
    size_t name_size;
};

struct leaks_maps {
    char *text;
    size_t text_room;
    struct leaks_mapping *mappings;
    size_t mapping_room;
    size_t count;
};

/* Reads the mappings as they are now, in the order of their addresses. Returns false where that fails. */
bool leaks_maps_read(struct leaks_maps *maps);

/* Gives the memory of one that was read back. */
void leaks_maps_free(struct leaks_maps *maps);

/* The mapping that holds an address, or NULL. */
const struct leaks_mapping *leaks_maps_find(const struct leaks_maps *maps, uintptr_t address);

#endif
