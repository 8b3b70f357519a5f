/* SPDX-License-Identifier: MIT */
/* The objects that are loaded, in the order in which the dynamic linker searches them. */
#ifndef SPWALK_IMPORTS_LOADED_H
#define SPWALK_IMPORTS_LOADED_H

#include "imports/object.h"
#include "imports/report.h"

struct imports_stubs;

/* An object's index is the same here and in the report. */
struct loaded {
    struct object view;
    bool closed, seen; /* unloaded; found in the latest update */
    bool selected;     /* its imports are to be counted */
    bool prepared, redirected;
    uint32_t first_import, import_count; /* its imports in the report, once it is redirected */
    struct imports_stubs *stubs;
};

extern struct loaded imports_loaded[];
extern size_t imports_loaded_count;
extern unsigned imports_loaded_generation; /* changes with each update */

/* Reads the options that say which objects' imports are counted. */
void imports_loaded_options(const struct imports_options *options);

/*
 * Brings the table up to date: objects that are new are added (as `opened` by dlopen or not), those that are gone are
 * marked closed. Returns the index of the first new one, or imports_loaded_count. Not thread-safe: it is called before
 * the first constructor, and later by the dynamic linker under its lock.
 */
size_t imports_loaded_update(bool opened);

/* Notes the object's constructors in the report; it must be relocated. */
void imports_loaded_constructors(size_t index);

/* Whether imports from this object are counted, by --to. */
bool imports_loaded_wanted(size_t provider);

/* The index + 1 of the open object that holds the address, or 0. */
uint32_t imports_loaded_owner(uintptr_t address);

/* Where a call of the import goes on: the function itself, or the lazy binding of it. */
uintptr_t imports_call_target(uint32_t import);

#endif
