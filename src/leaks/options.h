/* SPDX-License-Identifier: MIT */
/* How blocks are recorded; from the environment variable SPWALK_LEAKS, by the names in options.c. */
#ifndef SPWALK_LEAKS_OPTIONS_H
#define SPWALK_LEAKS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { LEAKS_DUMP_MAX = 4096 };

struct leaks_options {
    uint32_t frames;      /* the most kept of a stack */
    uint32_t disabled;    /* record nothing until told to */
    uint32_t guard;       /* a guard word after each block */
    uint32_t free_stacks; /* keep the stack of each call that frees, for double frees */
    uint32_t scan;        /* tell lost from reachable blocks */
    uint32_t dump;        /* bytes of content that are kept of a block */
    uint32_t dumps;       /* of how many blocks of a stack */
    uint32_t signal;      /* that makes the program report; 0: none */
    uint32_t follow;      /* the programs that it executes too */
    uint32_t release;     /* let the C library free its own caches at the end */
    uint64_t floor;       /* smaller blocks are not recorded */
    uint64_t sample;      /* one block in so many is recorded */
    bool is_choosy;       /* one of these two leaves blocks out */
};

extern struct leaks_options leaks_options;

/* Whether floor and sample let a block have a record. */
bool leaks_chooses(uint64_t size);

/* Sets options from NAME=VALUE words separated by ':'; words it does not know are for the tool. */
void leaks_options_read(const char *text);

#endif
