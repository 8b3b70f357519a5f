/* SPDX-License-Identifier: MIT */
/* An ELF file laid out in memory of the test's own, as the loader would, and its unwind tables there. */
#ifndef TESTS_CFI_ELF_TABLES_H
#define TESTS_CFI_ELF_TABLES_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi.h"

struct elf_tables {
    int fd;
    Elf *elf;
    uint8_t *image; /* all PT_LOAD segments; not relocated */
    uintptr_t bias; /* an address in it, less the file's */
    struct sp_cfi_tables tables;
    uintptr_t code_lo, code_hi; /* the executable segment */
};

/* Returns false where the file can't be read, is no x86-64 ELF file, or has no .eh_frame_hdr. */
bool elf_tables_open(struct elf_tables *file, const char *path);
void elf_tables_close(struct elf_tables *file);

/* Calls with the path of each module that this process has loaded, its own program among them. */
void each_loaded_file(void (*call)(const char *path, void *context), void *context);

/*
 * Calls with each of these that is there: the modules that this process has loaded, once libstdc++, libm and
 * libcrypto are loaded too, and a few programs. With arguments: those files.
 */
void each_real_file(int argc, char **argv, void (*call)(const char *path, void *context), void *context);

#endif
