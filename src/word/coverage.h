/* SPDX-License-Identifier: MIT */
/*
 * Which return addresses of a module are covered, that is, belong to a function that stored a frame word.
 *
 * One bit stands for 8 bytes of text; one bit more, which is looked at first, for 512 bytes of which all are covered:
 * in most text nearly all are, and its bits are few enough to stay in the processor's caches. A bit is set where the
 * frame records say that a return address there is a covered function's. A function's first 8 bytes at most partly
 * share a bit with what precedes it and are left out: at most one return address lies in them, of a call through a
 * register straight after the push of the word, which takes 5, and its frame goes by CFI. Its last bytes may share one
 * with what follows; another function's return address that soon after its start would need a call with no frame set
 * up, and there the word's tag decides.
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
    const uint64_t *parts; /* span / 8 bits, where `whole` has none */
};

/* The span, and what the others were when it was stored. */
static inline uintptr_t sp_coverage_span(const struct sp_coverage *coverage)
{
    return __atomic_load_n(&coverage->span, __ATOMIC_ACQUIRE);
}

/* address is a look-up address: a return address less 1. */
static inline bool sp_covered(const struct sp_coverage *coverage, uintptr_t address)
{
    uintptr_t offset = address - coverage->lo;
    return offset < coverage->span && ((coverage->whole[offset >> 15] >> (offset >> 9 & 63) & 1) != 0 ||
                                       (coverage->parts[offset >> 9] >> (offset >> 3 & 63) & 1) != 0);
}

/*
 * The extents of the text of a module that has frame records: from *lo, a multiple of 8, *span bytes. Returns false
 * where it has none. Async-signal-safe; the module must stay loaded meanwhile.
 */
bool sp_coverage_extents(const struct sp_module *module, uintptr_t *lo, uintptr_t *span);

/* 64-bit words needed for the bits of a span. */
size_t sp_coverage_words(uintptr_t span);

/* The coverage by a module's records of these extents, whose bits are to be in `words`: so many as above, zero. */
struct sp_coverage sp_coverage_make(const struct sp_module *module, uintptr_t lo, uintptr_t span, uint64_t *words);

#endif
