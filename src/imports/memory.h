/* SPDX-License-Identifier: MIT */
/* Writing where the dynamic linker or the kernel made memory read-only, and making it so again. */
#ifndef SPWALK_IMPORTS_MEMORY_H
#define SPWALK_IMPORTS_MEMORY_H

#include "imports/object.h"

/* The object's slots become writable, those in its RELRO segment too. Returns false where the system refuses. */
bool imports_open_slots(const struct object *object);

/* Writes one slot between imports_open_slots and imports_close_slots. Returns false where it is in no writable segment.
 */
bool imports_write_slot(const struct object *object, uintptr_t slot, uintptr_t value);

/* Makes the RELRO segment read-only again. */
void imports_close_slots(const struct object *object);

/*
 * Writes a 32-bit operand in the object's code, whose pages are never writable and executable at once. No thread may
 * be running there. Returns false, with nothing written, where the system refuses.
 */
bool imports_write_code(const struct object *object, unsigned char *operand, int32_t value);

/* Writes a jump there, in the same way. */
bool imports_write_jump(const struct object *object, unsigned char *at, int32_t displacement);

#endif
