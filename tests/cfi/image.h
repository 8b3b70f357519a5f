/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables made by hand, in memory that is followed by an inaccessible page.
 *
 * An image grows from its start; image_tables describes what was put into it. Positions are offsets from its start, and
 * addresses are where it lies in memory, so that pc-relative pointers can be made. One image exists at a time: each
 * Check case runs in a process of its own.
 */
#ifndef TESTS_CFI_IMAGE_H
#define TESTS_CFI_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi.h"

struct image {
    uint8_t *start;
    size_t size;
    size_t hdr; /* position of .eh_frame_hdr */
};

/* A CIE's fields; what is 0 or NULL has the value that compilers give it. */
struct image_cie {
    const char *augmentation; /* NULL: "zR" with pointer encoding 0x1b (pcrel, sdata4) */
    const uint8_t *data;      /* of the augmentation */
    size_t data_size;
    const uint8_t *instructions; /* NULL: CFA = rsp+8, return address at CFA-8 */
    size_t instructions_size;
    uint64_t code_alignment; /* 0: 1 */
    int64_t data_alignment;  /* 0: -8 */
    uint8_t version;         /* 0: 1 */
    uint8_t return_register; /* 0: 16 */
    uint8_t length64;        /* 1: an 8-byte length */
};

void image_make(struct image *image);
uintptr_t image_address(const struct image *image, size_t position);

void image_u8(struct image *image, uint8_t value);
void image_u16(struct image *image, uint16_t value);
void image_u32(struct image *image, uint32_t value);
void image_u64(struct image *image, uint64_t value);
void image_uleb(struct image *image, uint64_t value);
void image_sleb(struct image *image, int64_t value);
void image_bytes(struct image *image, const void *bytes, size_t size);
void image_patch_u32(struct image *image, size_t position, uint32_t value);

/* A header without a table, whose pointer is set by image_eh_frame_here. */
void image_header(struct image *image);
void image_eh_frame_here(struct image *image);

/* Begins an entry, and ends it with nops up to a multiple of 8. Both return its position. */
size_t image_entry_begin(struct image *image, int length64);
size_t image_entry_end(struct image *image, size_t entry);

size_t image_cie(struct image *image, const struct image_cie *cie);

/* An FDE of a CIE with the augmentation "zR" and the pointer encoding 0x1b. */
size_t image_fde(struct image *image, size_t cie, uintptr_t lo, uint32_t size, const uint8_t *instructions,
                 size_t instructions_size);
void image_terminator(struct image *image);

struct sp_cfi_tables image_tables(const struct image *image);

#define IMAGE_BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

#endif
