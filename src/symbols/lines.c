/* SPDX-License-Identifier: MIT */
#include "lines.h"

struct sp_lines *sp_lines_open(const struct sp_elf *file, char **why)
{
    (void)file;
    (void)why;
    return NULL;
}

int sp_lines_find(struct sp_lines *lines, uint64_t address, struct sp_string_pool *pool, struct sp_location_list *list)
{
    (void)lines;
    (void)address;
    (void)pool;
    list->count = 0;
    return 0;
}

void sp_lines_close(struct sp_lines *lines)
{
    (void)lines;
}
