/* SPDX-License-Identifier: MIT */
/* What a run of a counted program told: read from its report files, and judged. */
#ifndef SPWALK_IMPORTS_PROFILE_H
#define SPWALK_IMPORTS_PROFILE_H

#include <spwalk_symbols.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "imports/report.h"
#include "imports_patterns.h"

/* One function or variable that one object imports from one library. */
struct imports_row {
    char *name, *version; /* version "" where it has none */
    char *user;           /* file name of the importing object */
    uint64_t calls;
    uint32_t flags;  /* of enum imports_flag */
    uint32_t reason; /* an enum imports_reason */
};

enum imports_verdict {
    IMPORTS_VERDICT_NEVER,    /* never called: safe to load lazily */
    IMPORTS_VERDICT_LATE,     /* first called after start-up: a candidate */
    IMPORTS_VERDICT_START_UP, /* called while the program starts: nothing to gain */
    IMPORTS_VERDICT_UNSAFE,   /* not safe, for the reasons given */
    IMPORTS_VERDICT_OPENED,   /* already loaded at run time, by dlopen */
    IMPORTS_VERDICT_UNKNOWN   /* the program's own calls were not counted */
};

struct imports_library {
    char *path, *name; /* name: its DT_SONAME, else the path's last part */
    uint32_t flags;    /* of enum imports_object_flag */
    bool needed;       /* one of the program's DT_NEEDED */
    uint64_t calls;
    size_t functions, called; /* distinct ones imported, and of those called */
    size_t variables, copied, thread_variables;
    size_t pointers, uncounted; /* functions whose address is taken; others of which calls are not counted */
    struct imports_row *rows;
    size_t row_count;

    bool has_first;
    uint64_t first_time; /* nanoseconds since the start of its process image */
    int first_process;
    char *first_function; /* whose call it was */
    char *first_user;
    char **stack; /* a line a frame, innermost first */
    uint64_t *stack_addresses;
    size_t depth;
    bool stack_is_cut; /* its outermost frames are missing */

    char **constructors; /* names of those that are not the compiler's own */
    size_t constructor_count;
    size_t plain_constructors; /* the compiler's own, which do nothing that could be missed */
    size_t more_constructors;  /* of which nothing but their number is known */

    enum imports_verdict verdict;
    char **reasons; /* of IMPORTS_VERDICT_UNSAFE */
    size_t reason_count;
};

/* An object that was loaded from the start, in the order of the symbol search. */
struct imports_loaded_file {
    char *path, *name;
    uint32_t flags;
};

struct imports_profile {
    char *program; /* path */
    int process;   /* of the first image */
    unsigned images, processes;
    uint64_t start_time;            /* of the first image, by CLOCK_MONOTONIC */
    uint64_t main_time, setup_time; /* of the first image; main_time 0: main was not entered */
    uint32_t lost;
    bool is_program_counted;           /* the calls of the program itself are among those counted */
    struct imports_library *libraries; /* by calls, most first */
    size_t library_count;
    struct imports_loaded_file *files;
    size_t file_count;
    struct imports_row *unbound; /* imports that no loaded object defines */
    size_t unbound_count;
    uint64_t calls;
};

struct imports_profiles {
    struct imports_profile *items;
    size_t count;
};

/*
 * Adds a report file to the profile of its program, which is a new one where there is none. all: libraries that the
 * program itself does not need have a row too. patterns: told which objects there are. Returns 0, or -1 with a line on
 * stderr where the file is damaged.
 */
int imports_profile_add(struct imports_profiles *profiles, const char *file, bool all,
                        struct imports_patterns *patterns);

/* Judges each library, and sorts. start_up: nanoseconds after the entry into main that still are start-up. */
void imports_profile_judge(struct imports_profile *profile, uint64_t start_up);

void imports_profiles_free(struct imports_profiles *profiles);

/* Whether calls of the function were counted all, or why not: IMPORTS_REASON_NONE, or a reason. */
uint32_t imports_row_reason(const struct imports_row *row);

/* Memory for one more entry of an array that was grown so from the start; ends the program where there is none. */
void *imports_grow(void *array, size_t count, size_t size);

/* "safe to load lazily", ... */
const char *imports_verdict_text(enum imports_verdict verdict);
/* One word, for JSON and CSV. */
const char *imports_verdict_word(enum imports_verdict verdict);
const char *imports_reason_text(uint32_t reason);

/* The three forms of the report. functions: a row for each function too. JSON returns -1 where memory is short. */
void imports_show_text(FILE *out, const struct imports_profile *profile, bool functions);
void imports_show_csv(FILE *out, const struct imports_profiles *profiles, bool functions);
int imports_show_json(FILE *out, const struct imports_profiles *profiles, bool functions);

/*
 * Writes for each candidate of the profile FOLDER/SONAME.symbols: the functions that the program imports from it, one
 * a line, as generators of lazy-loading stubs take them. Returns 0, or -1 with a line on stderr.
 */
int imports_write_symbol_lists(const struct imports_profile *profile, const char *folder);

#endif
