/* SPDX-License-Identifier: MIT */
/*
 * A module's .dynsym as its PT_DYNAMIC gives it (gABI, "Dynamic Section"), without section headers. Async-signal-safe;
 * nothing outside the segments is read, whatever the tables say.
 */
#ifndef SPWALK_DYNAMIC_SYMBOLS_H
#define SPWALK_DYNAMIC_SYMBOLS_H

#include "preference.h"
#include "segments.h"

struct sp_dynamic_symbols {
    const Elf64_Sym *symbols;
    uint64_t count;
    const char *strings;
    uint64_t strings_size;
};

/* Fills in where they are; false where the module has none, or the tables are damaged. */
bool sp_dynamic_symbols_open(const struct sp_segments *segments, struct sp_dynamic_symbols *dynamic);

/* The function that symbol number index defines; false where it defines none. */
bool sp_dynamic_symbols_get(const struct sp_dynamic_symbols *dynamic, uint64_t index, struct sp_candidate *function);

/*
 * The function that contains an address, by looking at every symbol; false where none does. A function without a size
 * contains its first byte alone.
 */
bool sp_dynamic_symbols_find(const struct sp_dynamic_symbols *dynamic, uint64_t address, struct sp_candidate *function);

#endif
