/* SPDX-License-Identifier: MIT */
/*
 * What the walker knows of each module it has walked through: which return addresses are covered by frame words, and
 * where its unwind tables lie. Built at the first frame of a module, kept for the process's life, replaced when another
 * module turns up at the same addresses.
 */
#ifndef SPWALK_MODULES_H
#define SPWALK_MODULES_H

#include "cfi/cfi.h"
#include "module/module.h"
#include "word/coverage.h"

#include <stdbool.h>
#include <stdint.h>

struct sp_known_module {
    struct sp_module module;
    struct sp_coverage coverage;
    struct sp_cfi_tables tables; /* hdr == 0: it has none */
    uint64_t fingerprint;        /* of what tells it from another module at the same addresses */
    bool is_volatile;            /* it may be unloaded */
};

/*
 * Copies what is known of the module that holds an address to *known, having made sure that the module is still the
 * one it was when that became known. Returns false where no module holds the address.
 *
 * Async-signal-safe and thread-safe: a handler that lands in the midst of a module's being recorded works from a copy
 * of its own. May map memory for a module not seen before.
 */
bool sp_known_get(uintptr_t address, struct sp_known_module *known);

/* Goes up each time a module is found to have been replaced: what was remembered of volatile modules is then void. */
extern uint32_t sp_modules_generation;

/*
 * The coverage of the program itself, where every walk begins to look. It is written once, when the program is first
 * walked through, its span last.
 */
extern struct sp_coverage sp_program_coverage;

static inline struct sp_coverage sp_modules_program_coverage(void)
{
    const struct sp_coverage *coverage = &sp_program_coverage;
    uintptr_t span = sp_coverage_span(coverage);
    return (struct sp_coverage){coverage->lo, span, coverage->whole, coverage->parts};
}

#endif
