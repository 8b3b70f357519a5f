/* SPDX-License-Identifier: MIT */
/*
 * Which return addresses of a module are covered, that is, belong to a function that stored a frame word.
 *
 * One bit stands for 8 bytes of text. It is set where the frame records say that a return address there is a covered
 * function's. A function's first 8 bytes at most partly share a bit with what precedes it and are left out: at most
 * one return address lies in them, of a call through a register straight after the push of the word, which takes 5, and
 * its frame goes by CFI. Its last bytes may share
 * one with what follows; another function's return address that soon after its start would need a call with no frame
 * set up, and there the word's tag decides.
 */
#ifndef SPWALK_COVERAGE_H
#define SPWALK_COVERAGE_H

#include "module/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_coverage {
    uintptr_t lo;         /* where bit 0 is */
    uintptr_t span;       /* bytes of text that the bits stand for; 0: no address is covered */
    const uint64_t *bits; /* span / 8 bits */
};

/* address is a look-up address: a return address less 1. */
static inline bool sp_covered(const struct sp_coverage *coverage, uintptr_t address)
{
    uintptr_t offset = address - coverage->lo;
    return offset < coverage->span && (coverage->bits[offset >> 9] >> ((offset >> 3) & 63)) & 1;
}

/*
 * The extents of the text that a module's records cover: from *lo, a multiple of 8, *span bytes. Returns false where
 * it has no records. Async-signal-safe; the module must stay loaded meanwhile.
 */
bool sp_coverage_extents(const struct sp_module *module, uintptr_t *lo, uintptr_t *span);

/* 64-bit words needed for the bits of a span. */
static inline size_t sp_coverage_words(uintptr_t span)
{
    return (span + 511) / 512;
}

/* Sets the bits of each record within coverage's extents; `bits` is zeroed and writable. */
void sp_coverage_fill(const struct sp_module *module, uintptr_t lo, uintptr_t span, uint64_t *bits);

#endif
