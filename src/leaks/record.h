/* SPDX-License-Identifier: MIT */
/*
 * What is known of a block that is allocated. It lies behind the block, in the last bytes of its room, where it costs
 * no cache line of its own:
 *
 *     address      the size word of glibc's chunk is the 8 bytes before
 *     + size       guard word
 *     + slack      the record, up to the end of the chunk's room
 *
 * The slot of the block's address (slot.h) tells where that is.
 */
#ifndef SPWALK_LEAKS_RECORD_H
#define SPWALK_LEAKS_RECORD_H

#include "leaks/data.h"
#include "leaks/options.h"
#include "leaks/slot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a report can least do without comes last: a write that runs past the end of the block reaches it last. */
struct leaks_record {
    uint64_t time : 42;   /* of the time stamp counter, since the start, in units of 1 << LEAKS_TIME_SHIFT */
    uint64_t thread : 22; /* the kernel's number of the thread, which is below 2^22 */
    uint64_t serial : 48;
    uint64_t zero : 16;
    uint64_t trace : 32;
    uint64_t slack : 16; /* from the end of what was asked for to the record; LEAKS_SLACK_FAR: the 8 bytes before the
                            record tell it */
    uint64_t kind : 2;   /* enum leaks_kind */
    uint64_t marks : 2;  /* LEAKS_IGNORED, LEAKS_REPORTED */
    uint64_t epoch : 8;  /* which process of a line of forks allocated it */
};
_Static_assert(sizeof(struct leaks_record) == 24, "what a block costs, with 8 bytes of guard word");

enum { LEAKS_TIME_SHIFT = 12 };

enum { LEAKS_IGNORED = 1, LEAKS_REPORTED = 2 };

enum { LEAKS_SLACK_FAR = UINT16_MAX };

/* glibc's size word, whose lowest bits are flags, and how far behind the block its chunk ends. */
enum { LEAKS_CHUNK_MMAPPED = 2, LEAKS_CHUNK_FLAGS = 7 };

static inline uint64_t leaks_chunk_word(uintptr_t address)
{
    return ((const uint64_t *)address)[-1];
}

/* Where the room of a block ends: a chunk's last word is the next one's first, but not that of a mapping of its own. */
static inline uintptr_t leaks_chunk_end(uintptr_t address)
{
    uint64_t word = leaks_chunk_word(address);
    return address + (word & ~(uint64_t)LEAKS_CHUNK_FLAGS) - (word & LEAKS_CHUNK_MMAPPED ? 16 : 8);
}

/* The slot's value for a block with a record. */
static inline uint16_t leaks_slot_value(uintptr_t address)
{
    uint64_t word = leaks_chunk_word(address), units = (word & ~(uint64_t)LEAKS_CHUNK_FLAGS) / 16;
    bool is_sized = !(word & LEAKS_CHUNK_MMAPPED) && units <= UINT16_MAX - LEAKS_SLOT_SIZED;
    return is_sized ? (uint16_t)(LEAKS_SLOT_SIZED + units) : LEAKS_SLOT_LARGE;
}

/* By the slot's value, not by the size word, which a write past the end of the block before may have changed. */
static inline struct leaks_record *leaks_record_at(uintptr_t address, uint16_t slot)
{
    uintptr_t end = __builtin_expect(slot == LEAKS_SLOT_LARGE, 0)
                        ? leaks_chunk_end(address)
                        : address + (uintptr_t)(slot - LEAKS_SLOT_SIZED) * 16 - 8;
    return (struct leaks_record *)(end - sizeof(struct leaks_record));
}

/* More than the room before the record where the record was overwritten. */
static inline uint64_t leaks_record_size(const struct leaks_record *record, uintptr_t address)
{
    uint64_t slack = record->slack;
    if (__builtin_expect(slack == LEAKS_SLACK_FAR, 0))
        slack = ((const uint64_t *)record)[-1];
    return (uintptr_t)record - address - slack;
}

enum { LEAKS_GUARD_SIZE = 8 };

static inline uint64_t leaks_guard_word(uintptr_t address)
{
    return address * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0xfd5a7c1e93b6d20f);
}

/* What stands in the place of a block's guard word, xored with it: 0 where all is well, or there is none. */
static inline uint64_t leaks_guard_damage(uintptr_t address, uint64_t size)
{
    uint64_t word;
    if (!leaks_options.guard)
        return 0;
    memcpy(&word, (const char *)address + size, sizeof word);
    return word ^ leaks_guard_word(address);
}

#endif
