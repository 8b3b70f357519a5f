/* SPDX-License-Identifier: MIT */
/* All that a symbolizer has read about one ELF file: the file, what belongs to it elsewhere, its functions. */
#ifndef SPWALK_OBJECT_H
#define SPWALK_OBJECT_H

#include <spwalk_symbols.h>
#include <sys/types.h>

#include "elf_file.h"
#include "function_table.h"
#include "lines.h"

#define SP_OBJECT_TABLES 4

struct sp_object {
    char *path;
    dev_t device;
    ino_t inode;
    struct timespec changed;
    uint8_t build_id[SP_BUILD_ID_MAX]; /* as asked for */
    size_t build_id_size;

    struct sp_elf *file; /* NULL: it cannot be used */
    struct sp_elf *debug_file;
    struct sp_elf *debugdata;
    struct {
        enum sp_source source;
        struct sp_function_table functions;
    } tables[SP_OBJECT_TABLES];
    size_t table_count;
    uint64_t low, high; /* bounds of all functions; low > high where there are none */

    struct sp_lines *lines; /* NULL until asked for, and where there are none */
    bool lines_tried;
    char *note;   /* what was refused, or NULL */
    char *damage; /* what is damaged, or NULL */
};

/*
 * Opens the file of a module, with all symbol sources; with follow also its separate debug file, in debug_path.
 * A module's build-id, where it is known, must be the file's.
 *
 * Returns an object, also where the file cannot be used (file is NULL then, note says why), or NULL where memory is
 * short.
 */
struct sp_object *sp_object_open(const struct sp_loaded_module *module, bool follow, const char *debug_path);

/* Whether an object is what opening the module's file now would give; checked: also that the file has not changed. */
bool sp_object_is(const struct sp_object *object, const struct sp_loaded_module *module, bool checked);

/* The function at a virtual address and its source; NULL with *miss set where there is none. */
const struct sp_candidate *sp_object_function(const struct sp_object *object, uint64_t address, enum sp_source *source,
                                              enum sp_miss *miss);

/* The nearest function that begins at or below a virtual address, or NULL. */
const struct sp_candidate *sp_object_below(const struct sp_object *object, uint64_t address, enum sp_source *source);

/* The object's line tables, opened at the first call; NULL where there are none. */
struct sp_lines *sp_object_lines(struct sp_object *object);

void sp_object_close(struct sp_object *object);

#endif
