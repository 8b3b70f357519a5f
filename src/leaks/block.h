/* SPDX-License-Identifier: MIT */
/*
 * Recording what the allocator hands out and takes back.
 *
 * With guard words each tracked block is 8 bytes longer than was asked for, and these hold a value that depends on its
 * address.
 */
#ifndef SPWALK_LEAKS_BLOCK_H
#define SPWALK_LEAKS_BLOCK_H

#include "leaks/data.h"
#include "leaks/options.h"
#include "leaks/record.h"
#include "leaks/slot.h"
#include "leaks/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LEAKS_GUARD_SIZE 8

static inline uint64_t leaks_guard_word(uintptr_t address)
{
    return address * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0xfd5a7c1e93b6d20f);
}

/* What a program asks of the allocator for `size` bytes: room for the guard word too, where that is possible. */
static inline size_t leaks_padded(size_t size)
{
    return leaks_options.guard && size < SIZE_MAX / 2 ? size + LEAKS_GUARD_SIZE : size;
}

static inline bool leaks_wants(size_t size)
{
    if (__builtin_expect(leaks_thread_off > 0 || (leaks_is_off && leaks_thread_off == 0), 0))
        return false;
    return size >= leaks_options.floor;
}

/* The stack of the hook's caller; 0 where there is no memory to keep it. */
uint32_t leaks_trace_here(void);

/* Records a block that was allocated just now; block may be NULL. */
void leaks_block_add(void *block, size_t size, enum leaks_kind kind);

/*
 * To be called before a block is given back to the allocator. Returns whether to go on: false where it was not
 * allocated, or is free already, which is then reported.
 */
bool leaks_block_remove(void *block, enum leaks_kind kind);

/* What realloc must know of a block that it will perhaps move: its record is taken out of its slot. */
struct leaks_moving {
    uint32_t slot; /* what was in the slot */
    size_t size;   /* SIZE_MAX: not known */
};

/* Returns false as leaks_block_remove does. */
bool leaks_block_take_out(void *block, struct leaks_moving *moving);
/* Puts it back where nothing came of it. */
void leaks_block_put_back(void *block, const struct leaks_moving *moving);
/* Records it at its new place and size, with the stack of this call. */
void leaks_block_moved(void *block, size_t size, const struct leaks_moving *moving);

/* The size that the program asked for; SIZE_MAX where it is not known. */
size_t leaks_block_size(const void *block);

/* Checks a live block's guard word; what is wrong is reported, here being the stack of the caller or 0. */
void leaks_block_check(const struct leaks_record *record, enum leaks_kind kind, uint32_t here);

/* LEAKS_MALLOC, ... of a record, whose kind also tells whether it has a guard word. */
enum { LEAKS_GUARDED = 8 };
static inline enum leaks_kind leaks_record_kind(const struct leaks_record *record)
{
    return (enum leaks_kind)(record->kind & 7);
}

/* Gives a record other marks (LEAKS_IGNORED, LEAKS_REPORTED). Returns false where the block has none. */
bool leaks_block_mark(const void *block, unsigned mark);

#endif
