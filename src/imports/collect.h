/* SPDX-License-Identifier: MIT */
/*
 * What an object imports, from its dynamic relocations: each symbol it refers to outside itself, what for, what that
 * is bound to, and by which instructions it is used.
 */
#ifndef SPWALK_IMPORTS_COLLECT_H
#define SPWALK_IMPORTS_COLLECT_H

#include "imports/object.h"
#include "imports/report.h"
#include "imports/sites.h"

struct candidate {
    uint32_t symbol;              /* index in the object's dynamic symbol table */
    uint32_t flags;               /* of enum imports_flag */
    uint32_t provider;            /* index + 1 of the defining object, 0: none was found */
    uint32_t reason;              /* an enum imports_reason */
    uint32_t calls;               /* instructions that call through the GLOB_DAT slot and nothing else */
    bool stub;                    /* it is to get one */
    bool patch;                   /* the GLOB_DAT slot is also used as a value: redirect the calls, not the slot */
    uintptr_t plt_slot, got_slot; /* addresses; 0: none */
    uintptr_t target;             /* what a slot holds; 0 for a lazy import */
    const Elf64_Rela *plt_relocation;
};

struct collected {
    struct candidate *candidates;
    size_t count;
    uintptr_t *got_slots; /* ascending: the GLOB_DAT slots of functions */
    uint32_t *got_owners; /* the candidate of each */
    size_t got_count;
    struct site *sites; /* the instructions that call through one of them, and nothing else */
    size_t site_count, site_capacity;
    const struct object *object;
    void *memory;
    size_t memory_size;
};

/* Collects the imports of loaded object number `user`. Returns false where it has none, or no memory is left. */
bool imports_collect(size_t user, struct collected *collected);
void imports_collected_free(struct collected *collected);

/* How many imports the object may have at most: an upper bound, for sizing. */
size_t imports_collect_most(const struct object *object);

#endif
