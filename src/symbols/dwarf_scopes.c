/* SPDX-License-Identifier: MIT */
#include "dwarf_scopes.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Deeper than any compiler nests; a damaged tree may seem to go on. */
#define DEPTH_MAX 512

int sp_range_list_add(struct sp_range_list *list, struct sp_range range)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        struct sp_range *moved = realloc(list->ranges, capacity * sizeof *moved);
        if (moved == NULL)
            return -1;
        list->ranges = moved;
        list->capacity = capacity;
    }
    list->ranges[list->count++] = range;
    return 0;
}

int sp_range_list_add_die(struct sp_range_list *list, Dwarf_Die *die, uint32_t item, uint32_t rank)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t offset = 0;
    int added = 0;
    while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
        if (end <= start)
            continue;
        if (sp_range_list_add(list, (struct sp_range){start, end, item, rank}) != 0)
            return -1;
        added++;
    }
    return added;
}

static uint32_t add_scope(struct sp_scopes *scopes, const Dwarf_Die *die, uint32_t parent)
{
    if (scopes->count == scopes->capacity) {
        size_t capacity = scopes->capacity == 0 ? 64 : 2 * scopes->capacity;
        struct sp_scope *moved = capacity >= SP_NO_SCOPE ? NULL : realloc(scopes->scopes, capacity * sizeof *moved);
        if (moved == NULL)
            return SP_NO_SCOPE;
        scopes->scopes = moved;
        scopes->capacity = capacity;
    }
    scopes->scopes[scopes->count] = (struct sp_scope){*die, parent};
    return (uint32_t)scopes->count++;
}

/* Types, variables and call sites hold no code, and are most of a tree. */
static bool may_hold_code(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_with_stmt:
    case DW_TAG_common_block:
        return true;
    default:
        return false;
    }
}

struct reading {
    struct sp_scopes *scopes;
    struct sp_range_list ranges;
    Dwarf_Off reached; /* the furthest DIE so far */
};

/*
 * A tree is written from its root on, each DIE before its children and these before its siblings. In a damaged one
 * DW_AT_sibling may lead back, or into the children, and reading would take time without end.
 */
static bool is_further(struct reading *reading, Dwarf_Die *die)
{
    Dwarf_Off offset = dwarf_dieoffset(die);
    if (offset <= reading->reached)
        return false;
    reading->reached = offset;
    return true;
}

static int read_children(struct reading *reading, Dwarf_Die *of, uint32_t enclosing, uint32_t depth)
{
    Dwarf_Die die;
    if (depth > DEPTH_MAX || dwarf_child(of, &die) != 0)
        return 0;
    while (is_further(reading, &die)) {
        int tag = dwarf_tag(&die);
        if (may_hold_code(tag)) {
            uint32_t scope = enclosing;
            if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
                scope = add_scope(reading->scopes, &die, tag == DW_TAG_subprogram ? SP_NO_SCOPE : enclosing);
                int added = scope == SP_NO_SCOPE ? -1 : sp_range_list_add_die(&reading->ranges, &die, scope, depth);
                if (added < 0)
                    return -1;
            }
            if (read_children(reading, &die, scope, depth + 1) != 0)
                return -1;
        }
        if (dwarf_siblingof(&die, &die) != 0)
            break;
    }
    return 0;
}

int sp_scopes_read(Dwarf_Die *unit, struct sp_scopes *scopes)
{
    struct reading reading = {.scopes = scopes, .reached = dwarf_dieoffset(unit)};
    *scopes = (struct sp_scopes){0};
    int status = read_children(&reading, unit, SP_NO_SCOPE, 0);
    if (status == 0)
        status = sp_ranges_flatten(reading.ranges.ranges, reading.ranges.count, &scopes->ranges);
    free(reading.ranges.ranges);
    return status;
}

void sp_scopes_free(struct sp_scopes *scopes)
{
    free(scopes->scopes);
    free(scopes->ranges.ranges);
    *scopes = (struct sp_scopes){0};
}
