/* SPDX-License-Identifier: MIT */
#include "link_map.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/why.h"

struct lines {
    const char *rest;
    size_t left;
    struct sp_map_line line;
};

/* The next line, or NULL at the end. */
static struct sp_map_line *next_line(void *context)
{
    struct lines *lines = context;
    if (lines->left == 0)
        return NULL;
    const char *end = memchr(lines->rest, '\n', lines->left);
    size_t size = end == NULL ? lines->left : (size_t)(end - lines->rest), whole = end == NULL ? size : size + 1;
    lines->line.text = lines->rest;
    lines->line.size = size > 0 && lines->rest[size - 1] == '\r' ? size - 1 : size;
    lines->line.number++;
    lines->rest += whole;
    lines->left -= whole;
    return &lines->line;
}

static bool has(const struct sp_map_line *line, const char *text)
{
    return memmem(line->text, line->size, text, strlen(text)) != NULL;
}

bool sp_is_code_section(const char *name, size_t length)
{
    return memmem(name, length, "text", 4) != NULL || (length == 5 && memcmp(name, ".init", 5) == 0) ||
           (length == 5 && memcmp(name, ".fini", 5) == 0) || (length >= 4 && memcmp(name, ".plt", 4) == 0);
}

int sp_link_map_add(struct sp_link_map *map, const char *name, size_t length, uint64_t start, uint64_t size,
                    uint64_t limit, uint8_t type)
{
    const char *kept = sp_string_pool_keep(&map->strings, name, length);
    if (kept == NULL)
        return -1;
    if (map->count == map->capacity) {
        size_t capacity = map->capacity == 0 ? 256 : 2 * map->capacity;
        struct sp_function_entry *moved = realloc(map->entries, capacity * sizeof *moved);
        if (moved == NULL)
            return -1;
        map->entries = moved;
        map->capacity = capacity;
    }
    map->entries[map->count++] =
        (struct sp_function_entry){{start, size, kept, sp_name_length(kept), type, STB_GLOBAL}, limit};
    return 0;
}

int sp_link_map_read(const char *text, size_t size, const char *path, struct sp_link_map *map, char **why)
{
    *map = (struct sp_link_map){0};
    struct lines lines = {.rest = text, .left = size};
    if (memchr(text, '\0', size) != NULL) {
        sp_why(why, "%s: neither an ELF file nor a linker's map file", path);
        return -1;
    }
    const char *what = NULL;
    const struct sp_map_line *line;
    while ((line = next_line(&lines)) != NULL) {
        int status;
        if (has(line, "Linker script and memory map"))
            status = sp_gnu_map_read(map, next_line, &lines, &what);
        else if (has(line, " VMA ") && has(line, " LMA ") && has(line, "Symbol"))
            status = sp_lld_map_read(map, next_line, &lines, &what);
        else
            continue;
        if (status != 0)
            sp_why(why, "%s:%zu: %s", path, lines.line.number, what);
        else if (map->count == 0)
            sp_why(why, "%s: the map file lists no functions", path);
        else
            return 0;
        sp_link_map_free(map);
        return -1;
    }
    sp_why(why, "%s: neither an ELF file nor a linker's map file", path);
    return -1;
}

void sp_link_map_free(struct sp_link_map *map)
{
    free(map->entries);
    sp_string_pool_free(&map->strings);
    *map = (struct sp_link_map){0};
}
