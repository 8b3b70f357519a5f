/* SPDX-License-Identifier: MIT */
/* What a report shows: the blocks of a data file by stack, biggest first, with names. */
#ifndef SPWALK_LEAKS_PROFILE_H
#define SPWALK_LEAKS_PROFILE_H

#include "leaks_data.h"

#include <stdbool.h>
#include <stdio.h>

struct leaks_frame {
    uint64_t pc;
    char *function; /* NULL: not known */
    char *file;     /* NULL: not known */
    uint32_t line;
    const char *module; /* "" where none is known */
    uint64_t offset;    /* of the pc in its module's file, as addr2line takes it */
    bool is_inlined;    /* into the next */
};

struct leaks_named_stack {
    struct leaks_frame *frames;
    size_t count;
    bool is_cut;
};

/* The blocks of one stack and class. */
struct leaks_group {
    enum leaks_class class;
    enum leaks_kind kind;
    uint64_t blocks, bytes;
    const struct leaks_block_item **items; /* by serial */
    struct leaks_named_stack stack;
    const char *suppression; /* NULL: it is shown */
};

struct leaks_named_error {
    const struct leaks_error *error;
    struct leaks_named_stack here, allocated, freed;
    const char *suppression;
};

struct leaks_total {
    uint64_t blocks, bytes;
};

struct leaks_suppression {
    char *pattern;
    uint64_t groups, blocks, bytes; /* what it left out */
};

struct leaks_suppressions {
    struct leaks_suppression *items;
    size_t count;
};

struct leaks_profile {
    const struct leaks_data *data;
    struct leaks_group *groups; /* of the classes that are shown */
    size_t group_count;
    struct leaks_named_error *errors;
    size_t error_count;
    struct leaks_total totals[LEAKS_REACHABLE + 1]; /* a class, suppressed ones not counted */
    struct leaks_total suppressed;
    uint32_t shown; /* a bit a class */
    size_t wrong;   /* groups of lost blocks and errors that are shown */
};

/* Groups and names. shown: a bit a class. Returns 0, or -1 where memory is short. */
int leaks_profile_make(struct leaks_profile *profile, const struct leaks_data *data, uint32_t shown,
                       struct leaks_suppressions *suppressions);
void leaks_profile_free(struct leaks_profile *profile);

/* Adds "leak:PATTERN" lines of a file, as LeakSanitizer takes them. Returns 0, or -1 with a line on stderr. */
int leaks_suppressions_read(struct leaks_suppressions *suppressions, const char *path);
/* The pattern that a frame of the stack matches, which is then charged with it; NULL: none. */
struct leaks_suppression *leaks_suppressions_find(struct leaks_suppressions *suppressions,
                                                  const struct leaks_named_stack *stack);
void leaks_suppressions_free(struct leaks_suppressions *suppressions);

/* "definitely lost" and the like, and "malloc", "new", "new[]". */
const char *leaks_class_name(enum leaks_class class);
const char *leaks_kind_name(enum leaks_kind kind);
const char *leaks_release_name(enum leaks_kind kind, bool is_realloc);
const char *leaks_error_name(uint32_t type);
const char *leaks_reason_name(uint32_t reason);

void leaks_show_text(FILE *out, const struct leaks_profile *profile, bool is_coloured);
/* A stack a line, outermost function first, and its bytes (counts: its blocks), as flamegraph.pl takes it. */
void leaks_show_folded(FILE *out, const struct leaks_profile *profile, bool counts);

/* One report as an object, a leak at a time. Returns 0, or -1 where memory is short or it cannot be written. */
int leaks_show_json(FILE *out, const struct leaks_profile *profile);
/* Prints what is in one JSON report and not in the other. Returns the exit status. */
int leaks_compare(FILE *out, const char *before, const char *after);

#endif
