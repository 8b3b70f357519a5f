/* SPDX-License-Identifier: MIT */
/* An x86-64 ELF file opened for reading, by libelf. */
#ifndef SPWALK_ELF_FILE_H
#define SPWALK_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segments.h"

#define SP_BUILD_ID_MAX 64

struct sp_elf {
    Elf *elf;
    int fd;       /* -1 where it is in memory */
    char *path;   /* or what stands for it in messages */
    void *memory; /* its bytes, where it was made of them */
    uint8_t build_id[SP_BUILD_ID_MAX];
    size_t build_id_size; /* 0: it has none */
};

/* Opens a regular file. Returns NULL with *why set where it cannot be read or is no x86-64 ELF file. */
struct sp_elf *sp_elf_open(const char *path, char **why);

/* The same of size bytes, which are copied. name stands for the path. */
struct sp_elf *sp_elf_from_memory(const void *bytes, size_t size, const char *name, char **why);

void sp_elf_close(struct sp_elf *file);

/* The first section of a name, its header in *header; NULL where there is none. */
Elf_Scn *sp_elf_section(const struct sp_elf *file, const char *name, GElf_Shdr *header);

/* Whether the file has debugging information that libdw can look for lines in. */
bool sp_elf_has_dwarf(const struct sp_elf *file);

/* The file's PT_LOAD segments as far as the file holds them, by virtual address. Valid until sp_elf_close. */
void sp_elf_segments(const struct sp_elf *file, struct sp_segments *segments);

/* Whether the build-ids are both known and differ. */
bool sp_build_ids_differ(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size);

/* Writes a build-id in hex, as much as fits into text, NUL-terminated. */
void sp_build_id_text(const uint8_t *id, size_t id_size, char *text, size_t text_size);

#endif
