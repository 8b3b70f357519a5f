/* SPDX-License-Identifier: MIT */
/*
 * The name map, .spmap: spmap(5) describes it for people, this for the program. Little-endian; nothing needs alignment.
 *
 *     header | directory: an entry a section | sections
 *
 * A reader skips sections of types it does not know. All addresses are virtual addresses of the ELF file.
 */
#ifndef SPWALK_MAP_FORMAT_H
#define SPWALK_MAP_FORMAT_H

#include <stdint.h>

#define SP_MAP_MAGIC "spmap\x1a\r\n"
#define SP_MAP_VERSION 1

struct sp_map_header {
    char magic[8];
    uint16_t version;  /* a reader refuses one that it does not know */
    uint16_t sections; /* entries in the directory that follows */
    uint32_t reserved; /* 0 */
    uint64_t size;     /* of the whole file */
};

struct sp_map_section {
    uint32_t type;
    uint32_t reserved; /* 0 */
    uint64_t offset;   /* from the start of the file */
    uint64_t size;
};

enum sp_map_section_type {
    SP_MAP_BUILD_ID = 1,
    SP_MAP_TOKENS = 2,        /* what the bytes of names stand for: uint16_t offset[257], then the text of each */
    SP_MAP_FUNCTIONS = 3,     /* index of blocks: struct sp_map_index, then its two arrays */
    SP_MAP_FUNCTION_DATA = 4, /* the blocks */
    SP_MAP_FILES = 5,         /* uint32_t count, uint32_t offset[count + 1], then paths */
    SP_MAP_LINES = 6,         /* index of blocks, as of functions */
    SP_MAP_LINE_DATA = 7,     /* the blocks */
};

/* Followed by uint64_t start[blocks], the first address in each block, ascending, and uint32_t offset[blocks + 1] into
 * the data section, ascending. */
struct sp_map_index {
    uint32_t entries; /* functions, or rows, in all blocks */
    uint32_t blocks;
};

/*
 * A block of functions:
 *
 *     uint8_t count               1 to SP_MAP_BLOCK_FUNCTIONS
 *     uint16_t start[count - 1]   of the second function and on, from the block's first address, ascending
 *     uint8_t tail[count]         bytes between a function's end and the next one's start, or:
 *     record[count]               its name
 *
 * record: where tail is SP_MAP_TAIL_EXPLICIT three numbers (LEB128): the bytes it covers, its size (0: unknown), and
 * how far before its first covered byte it starts; then the length of its name in bytes (LEB128), and the name in
 * tokens.
 */
#define SP_MAP_BLOCK_FUNCTIONS 16
#define SP_MAP_TAIL_UNSIZED 254 /* it has no size, and covers all to the next one's start */
#define SP_MAP_TAIL_EXPLICIT 255

/*
 * A block of rows: count (LEB128), then for each row three numbers: its address less that of the row before (LEB128;
 * the first: of the block), its file less that before (signed LEB128), its line less that before (signed LEB128). A
 * block starts from file 0 and line 0. A row reaches to the next one; of line 0, it says that nothing is known.
 */
#define SP_MAP_BLOCK_ROWS 32

#endif
