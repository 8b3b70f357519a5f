/* SPDX-License-Identifier: MIT */
/*
 * lld's map file. Columns of numbers, then a name that is the further in the deeper it is:
 *
 *                  VMA              LMA     Size Align Out     In      Symbol
 *                201120           201120       5d    16 .text
 *                201120           201120       2a     1         main.o:(.text)
 *                201120           201120       2a     1                 main
 */
#include <ctype.h>
#include <string.h>

#include "link_map.h"

struct row {
    uint64_t address;
    uint64_t size;
    size_t level; /* 0 output section, 1 input section, 2 symbol */
    const char *name;
    size_t length;
};

/* A number of the line from *at on; false where there is none. */
static bool read_column(const struct sp_map_line *line, size_t *at, unsigned base, uint64_t *value)
{
    *value = 0;
    while (*at < line->size && line->text[*at] == ' ')
        ++*at;
    size_t first = *at;
    for (; *at < line->size && isxdigit((unsigned char)line->text[*at]); ++*at) {
        unsigned char digit = (unsigned char)line->text[*at];
        if (*at - first >= 16)
            return false;
        *value = *value * base + (uint64_t)(isdigit(digit) ? digit - '0' : tolower(digit) - 'a' + 10);
    }
    return *at > first && *at < line->size && line->text[*at] == ' ';
}

static bool read_row(const struct sp_map_line *line, struct row *row)
{
    uint64_t ignored;
    size_t at = 0;
    if (!read_column(line, &at, 16, &row->address) || !read_column(line, &at, 16, &ignored) ||
        !read_column(line, &at, 16, &row->size) || !read_column(line, &at, 10, &ignored))
        return false;
    size_t name = ++at;
    while (name < line->size && line->text[name] == ' ')
        name++;
    row->level = (name - at) / 8;
    row->name = line->text + name;
    row->length = line->size - name;
    return row->length > 0;
}

int sp_lld_map_read(struct sp_link_map *map, struct sp_map_line *(*next)(void *), void *lines, const char **what)
{
    bool code = false;
    uint64_t start = 0, end = 0; /* the input section's */
    const struct sp_map_line *line;
    while ((line = next(lines)) != NULL) {
        struct row row;
        if (line->size == 0)
            continue;
        if (!read_row(line, &row)) {
            *what = "not a line of lld's map file";
            return -1;
        }
        if (row.size > UINT64_MAX - row.address) {
            *what = "a section or symbol ends past the last address";
            return -1;
        }
        if (row.level == 0) {
            code = sp_is_code_section(row.name, row.length);
            start = end = 0;
        } else if (row.level == 1) {
            start = row.address;
            end = row.address + row.size;
        } else if (code && row.address != 0 && row.address >= start && row.address < end &&
                   sp_link_map_add(map, row.name, row.length, row.address, row.size, end, STT_FUNC) != 0) {
            *what = "out of memory";
            return -1;
        }
    }
    return 0;
}
