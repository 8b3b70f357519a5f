/* SPDX-License-Identifier: MIT */
/* Files, lines and inlined functions, from DWARF by libdw. */
#ifndef SPWALK_LINES_H
#define SPWALK_LINES_H

#include <spwalk_symbols.h>

#include "elf_file.h"
#include "string_pool.h"

struct sp_lines;

struct sp_location_list {
    struct sp_location *locations;
    size_t count;
    size_t capacity;
};

/* Returns 0, or -1 where memory is short. */
int sp_location_list_add(struct sp_location_list *list, const struct sp_location *location);

/* The line tables of a file, which must live longer; NULL with *why set where they cannot be read. */
struct sp_lines *sp_lines_open(const struct sp_elf *file, char **why);

/*
 * Fills list with what is executing at a virtual address, innermost first; empty where nothing is known about it. Its
 * strings are kept in pool. Function names are linkage names where DWARF has them.
 *
 * Returns 0, or -1 where memory is short.
 */
int sp_lines_find(struct sp_lines *lines, uint64_t address, struct sp_string_pool *pool, struct sp_location_list *list);

/* One row of a line table; file NULL and line 0 where a run of code ends. Returns 0 to go on. */
typedef int sp_row_function(void *context, uint64_t address, const char *file, uint32_t line);

/*
 * Gives all rows of code that is in the file, unit by unit. file is kept in pool.
 * Returns 0, what the function returned to stop, or -1 where memory is short.
 */
int sp_lines_each_row(struct sp_lines *lines, struct sp_string_pool *pool, sp_row_function *row, void *context);

/* What was found damaged on the way, or NULL. */
const char *sp_lines_damage(const struct sp_lines *lines);

void sp_lines_close(struct sp_lines *lines);

#endif
