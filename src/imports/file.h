/* SPDX-License-Identifier: MIT */
/* The report file as the counted program writes it: created, mapped, and appended to (format: report.h). */
#ifndef SPWALK_IMPORTS_FILE_H
#define SPWALK_IMPORTS_FILE_H

#include "imports/report.h"

#include <stdbool.h>
#include <stddef.h>

#define IMPORTS_OBJECTS_MAX 1024
#define IMPORTS_IMPORTS_MAX (1u << 18)

extern struct imports_report *imports_report; /* NULL until it is mapped */
extern struct imports_object *imports_objects;
extern struct imports_import *imports_imports;

/*
 * Creates a report file in `folder` with room for `import_capacity` imports and maps it. Leaves no descriptor open.
 * Returns false where that fails.
 */
bool imports_file_create(const char *folder, uint32_t import_capacity);

/* Appends a string; returns its offset, 0 (the empty string) where there is no room. Not thread-safe. */
uint32_t imports_file_string(const char *text);

/* The text at an offset that imports_file_string returned. */
const char *imports_file_text(uint32_t offset);

/* Claims `count` consecutive imports; returns the first's index, or UINT32_MAX where there is no room. */
uint32_t imports_file_claim(uint32_t count);

/* Counter block number `index`. */
_Atomic uint64_t *imports_file_block(uint32_t index);

#endif
