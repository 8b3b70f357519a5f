/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_MAP_LOAD_H
#define SPWALK_MAP_LOAD_H

#include "map_view.h"

/* Maps a file into memory and checks it. Returns NULL, or what is wrong (static); *size is 0 where nothing is mapped.
 */
const char *sp_map_file_open(const char *path, struct sp_map_view *view, const void **bytes, size_t *size);

/*
 * The map loaded for a module, or NULL.
 * path, build_id: the module's; either may be NULL. Async-signal-safe, thread-safe.
 */
const struct sp_map_view *sp_map_loaded(const char *path, const uint8_t *build_id, size_t build_id_size);

#endif
