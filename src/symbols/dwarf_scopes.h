/* SPDX-License-Identifier: MIT */
/* The functions of one compilation unit, and those inlined into them, by address (DWARF 5, section 3.3). */
#ifndef SPWALK_DWARF_SCOPES_H
#define SPWALK_DWARF_SCOPES_H

#include <elfutils/libdw.h>

#include "ranges.h"

#define SP_NO_SCOPE UINT32_MAX

struct sp_scope {
    Dwarf_Die die;   /* a DW_TAG_subprogram or DW_TAG_inlined_subroutine */
    uint32_t parent; /* what it is inlined into; SP_NO_SCOPE for a subprogram */
};

struct sp_scopes {
    struct sp_scope *scopes;
    size_t count;
    size_t capacity;
    struct sp_ranges ranges; /* item is an index into scopes: the innermost one */
};

/* Reads all functions below a unit's DIE. Returns 0, or -1 where memory is short. */
int sp_scopes_read(Dwarf_Die *unit, struct sp_scopes *scopes);

void sp_scopes_free(struct sp_scopes *scopes);

/* A list of ranges in the making. Adding returns -1 where memory is short. */
struct sp_range_list {
    struct sp_range *ranges;
    size_t count;
    size_t capacity;
};

int sp_range_list_add(struct sp_range_list *list, struct sp_range range);

/* Adds the addresses of a DIE (DW_AT_low_pc and DW_AT_high_pc, or DW_AT_ranges). Returns how many, -1: no memory. */
int sp_range_list_add_die(struct sp_range_list *list, Dwarf_Die *die, uint32_t item, uint32_t rank);

#endif
