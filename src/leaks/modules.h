/* SPDX-License-Identifier: MIT */
/*
 * The modules that were loaded at any time while blocks were recorded, so that a stack through a library that is closed
 * by now can be named.
 */
#ifndef SPWALK_LEAKS_MODULES_H
#define SPWALK_LEAKS_MODULES_H

#include "leaks/data.h"
#include "leaks/maps.h"

#include <stdbool.h>
#include <stddef.h>

struct leaks_known_module {
    struct leaks_module module;
    bool is_loaded;
    const char *path; /* module.path_size bytes */
};

/* Brings the list up to date with what is mapped; where a module is gone since the last time, the traces are told. */
void leaks_modules_update(void);

/* In the child of a fork. */
void leaks_modules_forked(void);

/* Module number `index`; NULL past the last. */
const struct leaks_known_module *leaks_modules_get(size_t index);

#endif
