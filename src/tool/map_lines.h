/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_MAP_LINES_H
#define SPWALK_MAP_LINES_H

#include "map_write.h"
#include "symbols/elf_file.h"
#include "symbols/string_pool.h"

/* All rows of a file's line tables, in order of their addresses. */
struct sp_map_lines {
    struct sp_map_row *rows;
    size_t count;
    size_t capacity;
    const char **files; /* in the order of their first rows; the strings are in pool */
    size_t file_count;
    size_t file_capacity;
    struct sp_string_pool pool;
};

/* Returns 0; -1 with *why set where the file has no debugging information, or it is damaged. */
int sp_map_lines_read(const struct sp_elf *file, struct sp_map_lines *lines, char **why);

void sp_map_lines_free(struct sp_map_lines *lines);

#endif
