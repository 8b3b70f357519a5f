/* SPDX-License-Identifier: MIT */
/*
 * A name map searched in place. Everything here is async-signal-safe and thread-safe, and reads nothing outside the
 * map's bytes, whatever they are.
 */
#ifndef SPWALK_MAP_VIEW_H
#define SPWALK_MAP_VIEW_H

#include <spwalk_symbols.h>
#include <stdbool.h>

#include "map_format.h"

struct sp_map_bytes {
    const uint8_t *bytes;
    uint64_t size;
};

struct sp_map_blocks {
    uint32_t blocks;
    uint32_t entries;
    const uint8_t *starts;  /* uint64_t each */
    const uint8_t *offsets; /* uint32_t each */
    struct sp_map_bytes data;
};

struct sp_map_view {
    struct sp_map_bytes build_id; /* size 0: the map has none */
    struct sp_map_bytes tokens;
    struct sp_map_bytes files;
    struct sp_map_blocks functions;
    struct sp_map_blocks lines;
};

/* A function of a map. */
struct sp_map_function {
    uint64_t start;
    uint64_t size;            /* 0: unknown */
    struct sp_map_bytes name; /* in tokens */
};

/*
 * Checks a map's bytes, which must stay as they are, and fills in view.
 * Returns NULL, or a static text that says what is wrong with them.
 */
const char *sp_map_view_open(const void *bytes, uint64_t size, struct sp_map_view *view);

/* The function at an address; else false, with *miss set. */
bool sp_map_view_find(const struct sp_map_view *view, uint64_t address, struct sp_map_function *function,
                      enum sp_miss *miss);

/*
 * Writes a function's name into text, NUL-terminated, and as much of it as fits. Returns its whole length, without the
 * NUL.
 */
uint64_t sp_map_view_name(const struct sp_map_view *view, const struct sp_map_function *function, char *text,
                          uint64_t size);

/* The last function that begins at or below an address; false where there is none. */
bool sp_map_view_below(const struct sp_map_view *view, uint64_t address, struct sp_map_function *function);

/* The file (not NUL-terminated) and line at an address; false where the map knows none. */
bool sp_map_view_line(const struct sp_map_view *view, uint64_t address, struct sp_map_bytes *file, uint32_t *line);

#endif
