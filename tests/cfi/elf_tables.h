/* SPDX-License-Identifier: MIT */
/* The unwind tables of an ELF file, read into memory of the test's own. */
#ifndef TESTS_CFI_ELF_TABLES_H
#define TESTS_CFI_ELF_TABLES_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi.h"

struct elf_tables {
    int fd;
    Elf *elf;
    uint8_t *segment; /* the PT_LOAD that holds .eh_frame_hdr */
    struct sp_cfi_tables tables;
    uintptr_t bias; /* an address as the tables have it, less the file's */
};

/* Returns false where the file can't be read, is no x86-64 ELF file, or has no .eh_frame_hdr. */
bool elf_tables_open(struct elf_tables *file, const char *path);
void elf_tables_close(struct elf_tables *file);

/* Calls with the path of each module that this process has loaded, its own program among them. */
void each_loaded_file(void (*call)(const char *path, void *context), void *context);

#endif
