/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: arbitrary text as a linker's map file, and of one in 1024 of those that are one the name map that is
 * made of it, which must name the functions that were read.
 *
 * Sources: src/tool/link_map.c src/tool/link_map_gnu.c src/tool/link_map_lld.c src/tool/byte_buffer.c
 * Sources: src/tool/map_tokens.c src/tool/map_write.c src/symbols/function_table.c src/symbols/dynamic_symbols.c
 * Sources: src/symbols/segments.c src/symbols/ranges.c src/symbols/string_pool.c src/symbols/map_view.c
 * Sources: src/symbols/why.c
 * Libraries: -D_GNU_SOURCE -lelf
 * Longest: 4096
 */
#include "guarded.h"
#include "symbols/map_view.h"
#include "tool/link_map.h"
#include "tool/map_write.h"

#include <stdlib.h>
#include <string.h>

static void check_function(const struct sp_function_table *table, const struct sp_range *range,
                           const struct sp_map_view *view, uint64_t address)
{
    const struct sp_candidate *wanted = &table->functions[range->item];
    struct sp_map_function found;
    enum sp_miss miss;
    char name[GUARDED_MOST / 64];
    if (!sp_map_view_find(view, address, &found, &miss) || found.start != wanted->start || found.size != wanted->size)
        abort();
    uint64_t length = sp_map_view_name(view, &found, name, sizeof name);
    if (length < sizeof name && (length != wanted->name_length || memcmp(name, wanted->name, length) != 0))
        abort();
}

static void check_map(const struct sp_function_table *table)
{
    const struct sp_map_contents contents = {.functions = table};
    struct sp_map_view view;
    uint8_t *bytes;
    size_t size;
    if (sp_map_make(&contents, &bytes, &size) != 0 || sp_map_view_open(bytes, size, &view) != NULL)
        abort();
    for (size_t i = 0; i < table->ranges.count; i++) {
        const struct sp_range *range = &table->ranges.ranges[i];
        check_function(table, range, &view, range->start);
        check_function(table, range, &view, range->end - 1);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sp_link_map map;
    struct sp_function_table table;
    if (size > GUARDED_MOST)
        return 0;
    const char *text = (const char *)guarded_copy(data, size);
    char *why = NULL;
    int status = sp_link_map_read(text, size, "input", &map, &why);
    if ((status != 0) != (why != NULL))
        abort();
    free(why);
    if (status != 0)
        return 0;
    if (sp_function_table_build(map.entries, map.count, &table) != 0)
        abort();
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum = (sum + data[i]) * UINT64_C(0x9e3779b97f4a7c15);
    if (sum >> 54 == 0)
        check_map(&table);
    sp_function_table_free(&table);
    sp_link_map_free(&map);
    return 0;
}
