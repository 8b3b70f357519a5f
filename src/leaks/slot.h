/* SPDX-License-Identifier: MIT */
/*
 * From a block's address to its record, without a lock: one 32-bit slot for every 16 bytes of address space, in leaves
 * that stand for 64 MiB each and take memory only where blocks are.
 *
 *     leaves[address / 64 MiB] -> slots[address % 64 MiB / 16] = record number, or one of the values below
 *
 * A slot belongs to whoever owns the block at its address: from the return of the allocator to the call that frees it,
 * that is one thread. So plain loads and stores suffice, in the allocator's own order.
 */
#ifndef SPWALK_LEAKS_SLOT_H
#define SPWALK_LEAKS_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LEAKS_SLOT_NONE = 0,      /* no block begins here */
    LEAKS_SLOT_UNTRACKED = 1, /* + enum leaks_kind: a block without a record */
    LEAKS_SLOT_RECORDS = 16,  /* the first record number */

    LEAKS_LEAF_SHIFT = 26,
    LEAKS_LEAF_SLOTS = 1 << (LEAKS_LEAF_SHIFT - 4),
    LEAKS_LEAVES = 1 << (47 - LEAKS_LEAF_SHIFT),
};

extern uint32_t *leaks_leaves[LEAKS_LEAVES];

/* Makes the leaf of an address; returns it, or NULL where memory is short. */
uint32_t *leaks_leaf_make(uintptr_t address);

/* The slot of an address of the lower half; NULL where there is none yet. */
static inline uint32_t *leaks_slot_find(uintptr_t address)
{
    if (address >> 47 != 0 || (address & 15) != 0)
        return NULL;
    uint32_t *leaf = __atomic_load_n(&leaks_leaves[address >> LEAKS_LEAF_SHIFT], __ATOMIC_ACQUIRE);
    return leaf == NULL ? NULL : &leaf[address >> 4 & (LEAKS_LEAF_SLOTS - 1)];
}

/* The same; it is made where need be. NULL where memory is short. */
static inline uint32_t *leaks_slot_make(uintptr_t address)
{
    uint32_t *slot = leaks_slot_find(address);
    if (__builtin_expect(slot != NULL, 1))
        return slot;
    return leaks_leaf_make(address) == NULL ? NULL : leaks_slot_find(address);
}

#endif
