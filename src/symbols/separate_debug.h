/* SPDX-License-Identifier: MIT */
/* Symbols that live elsewhere: separate debug files, and the compressed symbol table in .gnu_debugdata. */
#ifndef SPWALK_SEPARATE_DEBUG_H
#define SPWALK_SEPARATE_DEBUG_H

#include "elf_file.h"

/*
 * A module's separate debug file: by its build-id in each folder of debug_path (DIR/.build-id/ab/cdef.debug), then by
 * its .gnu_debuglink (beside the module, in .debug there, and in DIR/the module's folder). A file found by build-id
 * must have that build-id, one found by .gnu_debuglink the CRC written there.
 *
 * Returns NULL where there is none; *why is set where one
 * was refused, also where another was then found.
 */
struct sp_elf *sp_separate_debug_open(const struct sp_elf *module, const char *debug_path, char **why);

/* The ELF file within .gnu_debugdata (xz), or NULL; *why is set where there is one that cannot be used. */
struct sp_elf *sp_debugdata_open(const struct sp_elf *module, char **why);

#endif
