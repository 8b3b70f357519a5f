/* SPDX-License-Identifier: MIT */
/* Which stack an address lies in: the mapping around it, or a part of one that the program said is a stack. */
#ifndef STEP_REGION_H
#define STEP_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step_region {
    uintptr_t low;
    uintptr_t high; /* one past the end */
};

static inline bool step_region_has(struct step_region region, uintptr_t address)
{
    return address - region.low < region.high - region.low;
}

/* Whether this is a stack that SP can be on. An empty stack's SP is its end. */
static inline bool step_region_has_sp(struct step_region region, uintptr_t sp)
{
    return step_region_has(region, sp - 1);
}

/* Calls `each` with every line of /proc/self/maps until it returns true; returns whether one did. The path is empty for
 * anonymous memory. */
bool step_region_each(bool (*each)(void *data, struct step_region region, uint64_t file_offset, const char *path),
                      void *data);

/* Remembers a part of a mapping as a stack of its own (makecontext's). The newest 64 are known. */
void step_region_declare(struct step_region region);

/* The declared stack that has the address, or else its mapping; { 0, 0 } where nothing is mapped. */
struct step_region step_region_find(uintptr_t address);

/* The declared stack that has the address, or { 0, 0 }. Cheap. */
struct step_region step_region_declared(uintptr_t address);

#endif
