/* SPDX-License-Identifier: MIT */
/* A data file of the preloaded part (leaks/data.h), read and checked. */
#ifndef SPWALK_LEAKS_DATA_FILE_H
#define SPWALK_LEAKS_DATA_FILE_H

#include "leaks/data.h"

#include <stddef.h>

struct leaks_module_item {
    struct leaks_module module;
    char *path;
};

struct leaks_stack_item {
    struct leaks_stack stack;
    const uint64_t *pcs;
};

struct leaks_block_item {
    struct leaks_block block;
    const unsigned char *dump; /* block.dump_size bytes */
};

struct leaks_data {
    char *bytes;
    struct leaks_process process;
    struct leaks_module_item *modules;
    struct leaks_stack_item *stacks; /* by number */
    struct leaks_block_item *blocks;
    struct leaks_error *errors;
    size_t module_count, stack_count, block_count, error_count;
};

/* What is said of a file that is not there: nothing, since a report may be withdrawn before it is read. */
enum { LEAKS_DATA_GONE = 1 };

/* Reads a file. Returns 0, or -1 with a line on stderr, or LEAKS_DATA_GONE. */
int leaks_data_read(const char *path, struct leaks_data *data);
void leaks_data_free(struct leaks_data *data);

/* The stack of a number; NULL where there is none. */
const struct leaks_stack_item *leaks_data_stack(const struct leaks_data *data, uint32_t number);

#endif
