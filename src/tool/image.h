/* SPDX-License-Identifier: MIT */
/* An ELF file's segments laid out in memory as a loader would, not relocated, for readers of mapped modules. */
#ifndef SPWALK_IMAGE_H
#define SPWALK_IMAGE_H

#include "cfi/cfi.h"
#include "symbols/elf_file.h"

struct sp_image {
    uint8_t *bytes;
    uint64_t size;
    uint64_t low;            /* the virtual address of bytes[0] */
    uintptr_t bias;          /* address in memory - virtual address */
    struct sp_segments code; /* executable segments, as far as the file has their bytes */
};

/* Returns 0; -1 with *why set where the file has no segments to load, or they are damaged. */
int sp_image_load(const struct sp_elf *file, struct sp_image *image, char **why);

/* size bytes at a virtual address, or NULL where they are not all in the image. */
const uint8_t *sp_image_at(const struct sp_image *image, uint64_t address, uint64_t size);

/* Whether the file has code at all of size bytes from a virtual address on, and not only room for it. */
bool sp_image_is_code(const struct sp_image *image, uint64_t address, uint64_t size);

/* Where the file's call frame information is in the image; false: it has none. */
bool sp_image_cfi(const struct sp_elf *file, const struct sp_image *image, struct sp_cfi_tables *tables);

void sp_image_free(struct sp_image *image);

#endif
