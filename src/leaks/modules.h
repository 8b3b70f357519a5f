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

/*
 * Brings the list up to date with what is mapped. Returns whether a module is gone since the last time. Not to be
 * called by two threads at once.
 */
bool leaks_modules_update(const struct leaks_maps *maps);

/* Module number `index`; NULL past the last. */
const struct leaks_known_module *leaks_modules_get(size_t index);

#endif
