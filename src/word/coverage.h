/* SPDX-License-Identifier: MIT */
/*
 * Which return addresses of a module are covered, that is, belong to a function that stored a frame word.
 *
 * One bit stands for 8 bytes of text; one bit more, which is looked at first, for a granule, 512 bytes, of which all
 * are covered: in most text nearly all are, and its bits are few enough to stay in the processor's caches. The bits of
 * the granules of which only some bytes are covered lie close together behind those, so that what is looked at is a
 * page or two in all: each page is one more for a process's first walk to wait for. A bit is set where the frame
 * records say that a return address there is a covered function's. A function's first 8 bytes at most partly share a
 * bit with what precedes it and are left out: at most one return address lies in them, of a call through a register
 * straight after the push of the word, which takes 5, and its frame goes by CFI. Its last bytes may share one with what
 * follows; another function's return address that soon after its start would need a call with no frame set up, and
 * there the word's tag decides.
 */
#ifndef SPWALK_COVERAGE_H
#define SPWALK_COVERAGE_H

#include "module/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_coverage {
    uintptr_t lo;          /* where bit 0 is */
    uintptr_t span;        /* bytes of text that the bits stand for; 0: no address is covered */
    const uint64_t *whole; /* span / 512 bits */
    const uint64_t *parts; /* a granule's 64 bits each, where `whole` has none */
};

/* The span, and what the others were when it was stored. */
static inline uintptr_t sp_coverage_span(const struct sp_coverage *coverage)
{
    return __atomic_load_n(&coverage->span, __ATOMIC_ACQUIRE);
}

/*
 * `parts` are blocks of 64-bit words, one for each 64 granules of which any has covered bytes and others, and one for
 * all the rest:
 *
 *     8 words       a byte for each of the 64 granules: which of the words that follow has its bits
 *     the 0th       of those that have no covered bytes: 0
 *     the 1st..     of one granule each
 *
 * They begin with an array, 32 bits for each 64 granules: how many words from there its block is.
 */
enum { SP_COVERAGE_RANKS = 8 };

/*
 * Whether the 8 bytes at an offset from lo, less than span, are covered, where `whole` has no bit for them. Of a
 * module that is never unloaded.
 */
static inline bool sp_covered_in_part(const struct sp_coverage *coverage, uintptr_t offset)
{
    /* What the walk's loop has computed of it is computed anew, and takes no register there. */
    __asm__("" : "+r"(offset));
    const uint64_t *block = coverage->parts + ((const uint32_t *)coverage->parts)[offset >> 15];
    unsigned rank = ((const uint8_t *)block)[offset >> 9 & 63];
    return (block[SP_COVERAGE_RANKS + rank] >> (offset >> 3 & 63) & 1) != 0;
}

/* address is a look-up address: a return address less 1. Of a module that is never unloaded. */
static inline bool sp_covered(const struct sp_coverage *coverage, uintptr_t address)
{
    uintptr_t offset = address - coverage->lo;
    return offset < coverage->span &&
           ((coverage->whole[offset >> 15] >> (offset >> 9 & 63) & 1) != 0 || sp_covered_in_part(coverage, offset));
}

/* The same of any module. While its bits are replaced by another's the answer is of no worth, and no more than that. */
bool sp_covered_unless_replaced(const struct sp_coverage *coverage, uintptr_t address);

/*
 * The extents of the text of a module that has frame records: from *lo, a multiple of 8, *span bytes. Returns false
 * where it has none. Async-signal-safe; the module must stay loaded meanwhile.
 */
bool sp_coverage_extents(const struct sp_module *module, uintptr_t *lo, uintptr_t *span);

/*
 * How many 64-bit words the coverage of a span can need at most. So many hold that of any module of this span: whoever
 * reads them while they are replaced reads no further.
 */
size_t sp_coverage_words(uintptr_t span);

/*
 * The coverage by a module's records of these extents, its bits in the `room` words at `words`, which are zero. Its
 * span is 0 where that is too little.
 */
struct sp_coverage sp_coverage_make(const struct sp_module *module, uintptr_t lo, uintptr_t span, uint64_t *words,
                                    size_t room);

#endif
