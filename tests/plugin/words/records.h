/* SPDX-License-Identifier: MIT */
/*
 * The frame records of an ELF file, found as the runtime finds them: by its program headers alone.
 */
#ifndef WORDS_RECORDS_H
#define WORDS_RECORDS_H

#include <stddef.h>
#include <stdint.h>

struct covered_range {
    uint64_t start, end; /* addresses as linked */
    uint32_t word;       /* low 32 bits */
};

struct covered_ranges {
    struct covered_range *ranges; /* ascending, without overlap, none empty; owned: free(3) */
    size_t count;
    size_t notes;
};

/* Reads a file's records. What is wrong with the file or a record is told on stderr. Returns 0, or -1 where it was. */
int read_records(const char *path, struct covered_ranges *records);

/* The range that holds an address, or NULL. */
const struct covered_range *find_range(const struct covered_ranges *records, uint64_t address);

#endif
