/* SPDX-License-Identifier: MIT */
/* The functions of one symbol table, by address. */
#ifndef SPWALK_FUNCTION_TABLE_H
#define SPWALK_FUNCTION_TABLE_H

#include "elf_file.h"
#include "preference.h"
#include "ranges.h"

struct sp_function_table {
    struct sp_candidate *functions; /* one for each start; names lie in the ELF file's data */
    size_t count;
    struct sp_ranges ranges; /* disjoint; item is an index into functions */
};

struct sp_function_entry {
    struct sp_candidate symbol;
    uint64_t limit; /* how far the symbol can reach where it has no size */
};

/*
 * Makes a table of entries, which it sorts. Of aliases the preferred one is kept (preference.h), and a longer one
 * beside it for what it alone covers. A symbol without a size that lies within one that has a size is a label in that
 * function, and names nothing.
 *
 * Returns 0, or -1 where memory is short.
 */
int sp_function_table_build(struct sp_function_entry *entries, size_t count, struct sp_function_table *table);

/*
 * Reads the table's functions. An SHT_SYMTAB lists every function, so that there a function without a size reaches to
 * the next symbol or its section's end; in a partial table (SHT_DYNSYM, or partial set) nothing is known past its first
 * byte.
 *
 * section, header: a symbol table of file. Returns 0, with an empty table where the section is damaged, and -1 where
 * memory is short.
 */
int sp_function_table_read(const struct sp_elf *file, Elf_Scn *section, const GElf_Shdr *header, bool partial,
                           struct sp_function_table *table);

/* The same of the .dynsym that PT_DYNAMIC leads to, for a file without section headers. */
int sp_function_table_read_dynamic(const struct sp_segments *segments, struct sp_function_table *table);

/* The function that contains an address, or NULL. */
const struct sp_candidate *sp_function_table_find(const struct sp_function_table *table, uint64_t address);

/* The last function that begins at or below an address, or NULL. */
const struct sp_candidate *sp_function_table_below(const struct sp_function_table *table, uint64_t address);

void sp_function_table_free(struct sp_function_table *table);

#endif
