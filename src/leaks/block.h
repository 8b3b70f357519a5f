/* SPDX-License-Identifier: MIT */
/*
 * Recording what the allocator hands out and takes back.
 *
 * A hook asks leaks_wants before it allocates, and for leaks_padded bytes where the answer is yes: room for the record
 * and, with guard words, 8 bytes that hold a value that depends on the block's address.
 */
#ifndef SPWALK_LEAKS_BLOCK_H
#define SPWALK_LEAKS_BLOCK_H

#include "leaks/data.h"
#include "leaks/options.h"
#include "leaks/record.h"
#include "leaks/slot.h"
#include "leaks/state.h"
#include "walk/start.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a block of this size is to have a record. */
static inline bool leaks_wants(size_t size)
{
    if (__builtin_expect(leaks_thread_off > 0 || (leaks_is_off && leaks_thread_off == 0), 0))
        return false;
    if (__builtin_expect(leaks_options.is_choosy, 0))
        return leaks_chooses(size);
    return true;
}

static inline size_t leaks_padded(size_t size)
{
    size_t padding = sizeof(struct leaks_record) + (leaks_options.guard ? LEAKS_GUARD_SIZE : 0);
    return __builtin_expect(size < SIZE_MAX / 2, 1) ? size + padding : size;
}

/* The stack of a hook's caller; 0 where there is no memory to keep it. */
uint32_t leaks_trace_of(const struct sp_own_registers *caller);
/* The same from within a function that a hook has called. */
uint32_t leaks_trace_here(void);

/* Notes a block that was allocated just now, with a record where that was wanted; block may be NULL. */
void leaks_block_add(void *block, size_t size, enum leaks_kind kind, bool is_wanted,
                     const struct sp_own_registers *caller);

/*
 * To be called before a block is given back to the allocator. Returns whether to go on: false where it was not
 * allocated, or is free already, which is then reported.
 */
bool leaks_block_remove(void *block, enum leaks_kind kind);

/*
 * The same before a realloc, which may fail: then the block is put back. Its record stays where it is meanwhile; *slot
 * is what was in its slot.
 */
bool leaks_block_take_out(void *block, uint16_t *slot);
void leaks_block_put_back(void *block, uint16_t slot);

/* The size that the program asked for; SIZE_MAX where it is not known. */
size_t leaks_block_size(const void *block);

/* Whether a record of a block that has so much room before it is as it was written, as far as can be told. */
bool leaks_record_is_whole(const struct leaks_record *record, uint64_t size, uint64_t room);

/* Reports that a block's guard word was overwritten, here being the stack of the call that frees it as kind, or 0.
 * record: NULL where the write went on over that. */
void leaks_block_damaged(const struct leaks_record *record, uintptr_t address, uint64_t size, enum leaks_kind kind,
                         uint32_t here);

/* Makes it a block of another kind. block may be NULL. */
void leaks_block_become(void *block, enum leaks_kind kind);

/* Gives a record other marks (LEAKS_IGNORED, LEAKS_REPORTED). Returns false where the block has none. */
bool leaks_block_mark(const void *block, unsigned mark);

#endif
