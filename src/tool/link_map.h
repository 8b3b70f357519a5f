/* SPDX-License-Identifier: MIT */
/*
 * Functions out of a linker's map file: GNU ld's (-Map) and lld's.
 *
 * GNU ld lists global symbols, without types and sizes, under the input section that each is in. So a function reaches
 * to the next symbol or to the end of its input section, and an input section .text.NAME (-ffunction-sections) without
 * a symbol at its start is NAME's. Only output sections of code are read: those with "text" in their names, .init,
 * .fini and .plt*. Symbols at address 0, discarded input sections and assignments of the linker script are none.
 */
#ifndef SPWALK_LINK_MAP_H
#define SPWALK_LINK_MAP_H

#include "symbols/function_table.h"
#include "symbols/string_pool.h"

struct sp_link_map {
    struct sp_function_entry *entries; /* names are in strings */
    size_t count;
    size_t capacity;
    struct sp_string_pool strings;
};

/* Reads a map file of either linker. Returns 0; -1 with *why set where it is neither, or is damaged. */
int sp_link_map_read(const char *text, size_t size, const char *path, struct sp_link_map *map, char **why);

void sp_link_map_free(struct sp_link_map *map);

/* Parts of the readers. A line is not NUL-terminated. */
struct sp_map_line {
    const char *text;
    size_t size;
    size_t number; /* from 1 */
};

bool sp_is_code_section(const char *name, size_t length);

/* Adds a function; size 0: not known, it reaches to limit at most. Returns 0, or -1: memory is short. */
int sp_link_map_add(struct sp_link_map *map, const char *name, size_t length, uint64_t start, uint64_t size,
                    uint64_t limit, uint8_t type);

/* Takes lines in order, up to NULL text at the end. Returns 0; -1 with *what set (static). */
int sp_gnu_map_read(struct sp_link_map *map, struct sp_map_line *(*next)(void *), void *lines, const char **what);
int sp_lld_map_read(struct sp_link_map *map, struct sp_map_line *(*next)(void *), void *lines, const char **what);

#endif
