/* SPDX-License-Identifier: MIT */
/* What an ELF file tells of a library, beyond what the run did: read with libelf. */
#ifndef SPWALK_IMPORTS_FACTS_H
#define SPWALK_IMPORTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct imports_facts;

/* Opens a file; NULL where it is gone or no ELF file. */
struct imports_facts *imports_facts_open(const char *path);
void imports_facts_close(struct imports_facts *facts);

/* DT_NEEDED number `index`, or NULL. */
const char *imports_facts_needed(const struct imports_facts *facts, size_t index);

/* Whether it needs its thread-local variables to be there from the start (DF_STATIC_TLS). */
bool imports_facts_static_tls(const struct imports_facts *facts);

/*
 * Whether the constructor at this virtual address is one that the compiler puts into every object: _init with its call
 * of __gmon_start__, and frame_dummy, or one that just returns. It is told by its instructions.
 */
bool imports_facts_plain_constructor(const struct imports_facts *facts, uint64_t address);

struct imports_fact_symbol {
    const char *name, *version; /* version "": none */
    bool defined;               /* for others to use */
    bool strong;                /* not weak */
    bool referenced;            /* by a dynamic relocation of the file */
};

/* Dynamic symbol number `index` from 0. Returns false past the last. */
bool imports_facts_symbol(const struct imports_facts *facts, size_t index, struct imports_fact_symbol *symbol);

#endif
