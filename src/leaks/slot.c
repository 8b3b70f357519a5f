/* SPDX-License-Identifier: MIT */
#include "leaks/slot.h"

#include "leaks/own.h"

uint32_t *leaks_leaves[LEAKS_LEAVES];

uint32_t *leaks_leaf_make(uintptr_t address)
{
    if (address >> 47 != 0)
        return NULL;
    uint32_t **place = &leaks_leaves[address >> LEAKS_LEAF_SHIFT], *expected = NULL;
    uint32_t *leaf = leaks_own_map(sizeof(uint32_t) * LEAKS_LEAF_SLOTS);
    if (leaf == NULL)
        return __atomic_load_n(place, __ATOMIC_ACQUIRE);
    /* The loser's pages stay mapped and untouched. */
    if (__atomic_compare_exchange_n(place, &expected, leaf, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return leaf;
    return expected;
}
