/* SPDX-License-Identifier: MIT */
/*
 * What begins at an address, without a lock: one 16-bit slot for every 16 bytes of address space, in leaves that stand
 * for 64 MiB each and take memory only where blocks are.
 *
 *     leaves[address / 64 MiB] -> slots[address % 64 MiB / 16] = one of the values below
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
    LEAKS_SLOT_FREED = 6,     /* one did */
    LEAKS_SLOT_LARGE = 7,     /* a block with a record; the allocator's size word tells where its room ends */
    LEAKS_SLOT_SIZED = 8,     /* + n: a block with a record whose chunk has 16 n bytes */

    LEAKS_LEAF_SHIFT = 26,
    LEAKS_LEAF_SLOTS = 1 << (LEAKS_LEAF_SHIFT - 4),
    LEAKS_LEAVES = 1 << (47 - LEAKS_LEAF_SHIFT),
    LEAKS_GROUP_SHIFT = 11, /* a page of slots */
};

struct leaks_leaf {
    uint16_t slots[LEAKS_LEAF_SLOTS];
    uint8_t is_used[LEAKS_LEAF_SLOTS >> LEAKS_GROUP_SHIFT]; /* a page of slots that ever held another value than NONE */
};

extern struct leaks_leaf *leaks_leaves[LEAKS_LEAVES];

/* Makes the leaf of an address; NULL where memory is short, or there can be none. */
struct leaks_leaf *leaks_leaf_make(uintptr_t address);

/* The number of each leaf there is, in the order of their making; UINT32_MAX where it is just being made; false past
 * the last. */
bool leaks_leaf_number(size_t index, uint32_t *number);

/* The slot of an address of the lower half; NULL where there is none yet. */
static inline uint16_t *leaks_slot_find(uintptr_t address)
{
    if (address >> 47 != 0 || (address & 15) != 0)
        return NULL;
    struct leaks_leaf *leaf = __atomic_load_n(&leaks_leaves[address >> LEAKS_LEAF_SHIFT], __ATOMIC_ACQUIRE);
    return leaf == NULL ? NULL : &leaf->slots[address >> 4 & (LEAKS_LEAF_SLOTS - 1)];
}

/*
 * The same, for a block that begins now: it is made where need be, and a snapshot will look at it. NULL where memory is
 * short.
 */
static inline uint16_t *leaks_slot_make(uintptr_t address)
{
    if (__builtin_expect(address >> 47 != 0 || (address & 15) != 0, 0))
        return NULL;
    struct leaks_leaf *leaf = __atomic_load_n(&leaks_leaves[address >> LEAKS_LEAF_SHIFT], __ATOMIC_ACQUIRE);
    if (__builtin_expect(leaf == NULL, 0) && (leaf = leaks_leaf_make(address)) == NULL)
        return NULL;
    size_t index = address >> 4 & (LEAKS_LEAF_SLOTS - 1);
    uint8_t *is_used = &leaf->is_used[index >> LEAKS_GROUP_SHIFT];
    if (__builtin_expect(*is_used == 0, 0))
        __atomic_store_n(is_used, 1, __ATOMIC_RELAXED);
    return &leaf->slots[index];
}

#endif
