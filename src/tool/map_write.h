/* SPDX-License-Identifier: MIT */
/* Writes name maps (spmap(5), symbols/map_format.h). */
#ifndef SPWALK_MAP_WRITE_H
#define SPWALK_MAP_WRITE_H

#include "symbols/function_table.h"

/* From its address on, up to the next row, code is of this file and line; line 0: of none that is known. */
struct sp_map_row {
    uint64_t address;
    uint32_t file; /* index into files */
    uint32_t line;
};

struct sp_map_contents {
    const uint8_t *build_id;
    size_t build_id_size; /* 0: none */
    const struct sp_function_table *functions;
    const struct sp_map_row *rows; /* ascending; NULL: a map without lines */
    size_t row_count;
    const char *const *files;
    size_t file_count;
};

/*
 * Makes the bytes of a map, *bytes to be freed. The same contents give the same bytes.
 * Returns 0; -1 with errno ENOMEM, or EFBIG where a section would be larger than 4 GiB.
 */
int sp_map_make(const struct sp_map_contents *contents, uint8_t **bytes, size_t *size);

#endif
