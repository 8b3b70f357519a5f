/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_MODULE_LIST_H
#define SPWALK_MODULE_LIST_H

#include <spwalk_symbols.h>

/* How often modules were loaded and unloaded in this process so far: a list taken at the same counts is still true. */
struct sp_module_counts {
    unsigned long long loaded;
    unsigned long long unloaded;
};

struct sp_module_counts sp_module_counts_now(void);

/* The module that contains an address, or NULL. */
const struct sp_loaded_module *sp_modules_find(const struct sp_modules *modules, uintptr_t address);

#endif
