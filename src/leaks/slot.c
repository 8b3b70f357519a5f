/* SPDX-License-Identifier: MIT */
#include "leaks/slot.h"

#include "leaks/own.h"

struct leaks_leaf *leaks_leaves[LEAKS_LEAVES];

static uint32_t numbers[LEAKS_LEAVES]; /* + 1; 0 where the maker has not come so far */
static uint32_t count;

struct leaks_leaf *leaks_leaf_make(uintptr_t address)
{
    if (address >> 47 != 0)
        return NULL;
    struct leaks_leaf **place = &leaks_leaves[address >> LEAKS_LEAF_SHIFT], *expected = NULL;
    struct leaks_leaf *leaf = leaks_own_map(sizeof *leaf);
    if (leaf == NULL)
        return __atomic_load_n(place, __ATOMIC_ACQUIRE);
    /* The loser's pages stay mapped and untouched. */
    if (!__atomic_compare_exchange_n(place, &expected, leaf, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return expected;
    uint32_t index = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&numbers[index], (uint32_t)(address >> LEAKS_LEAF_SHIFT) + 1, __ATOMIC_RELEASE);
    return leaf;
}

bool leaks_leaf_number(size_t index, uint32_t *number)
{
    if (index >= __atomic_load_n(&count, __ATOMIC_RELAXED))
        return false;
    uint32_t stored = __atomic_load_n(&numbers[index], __ATOMIC_ACQUIRE);
    *number = stored - 1;
    return true;
}
