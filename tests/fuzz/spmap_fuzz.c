/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: arbitrary bytes as a name map (spmap(5)), opened and searched.
 *
 * Sources: src/symbols/map_view.c
 *
 * Input: the map. The size in its header is set to the right one, but where bit 0 of the first reserved byte is set, so
 * that inputs of other sizes come further.
 */
#include "guarded.h"
#include "symbols/map_view.h"

#include <stdlib.h>
#include <string.h>

static void look_up(const struct sp_map_view *view, uint64_t address)
{
    struct sp_map_function function;
    struct sp_map_bytes file;
    enum sp_miss miss;
    uint32_t line;
    char name[64];
    bool found = sp_map_view_find(view, address, &function, &miss);
    if (found != (miss == SP_MISS_NONE))
        abort();
    if (found || sp_map_view_below(view, address, &function)) {
        memset(name, 1, sizeof name);
        uint64_t length = sp_map_view_name(view, &function, name, sizeof name);
        if (strnlen(name, sizeof name) > length || memchr(name, '\0', sizeof name) == NULL ||
            sp_map_view_name(view, &function, NULL, 0) != length)
            abort();
    }
    if (sp_map_view_line(view, address, &file, &line)) {
        volatile uint8_t touched = 0;
        for (uint64_t i = 0; i < file.size; i++)
            touched ^= file.bytes[i];
        if (line == 0)
            abort();
    }
}

/* Around the first addresses of some blocks: of all in a small map. */
static void look_up_in(const struct sp_map_view *view, const struct sp_map_blocks *blocks)
{
    uint32_t step = 1 + blocks->blocks / 8;
    for (uint32_t i = 0; i < blocks->blocks; i += step) {
        uint64_t start;
        memcpy(&start, blocks->starts + 8 * (uint64_t)i, sizeof start);
        look_up(view, start - 1);
        look_up(view, start);
        look_up(view, start + 20);
        look_up(view, start + 300);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sp_map_view view;
    struct sp_map_header header;
    if (size > GUARDED_MOST)
        return 0;
    uint8_t *bytes = guarded_copy(data, size);
    if (size >= sizeof header) {
        memcpy(&header, bytes, sizeof header);
        if ((header.reserved & 1) == 0)
            header.size = size;
        memcpy(bytes, &header, sizeof header);
    }
    if (sp_map_view_open(bytes, size, &view) != NULL)
        return 0;
    look_up(&view, 0);
    look_up(&view, UINT64_MAX);
    look_up_in(&view, &view.functions);
    look_up_in(&view, &view.lines);
    return 0;
}
