/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>

#define IMAGE_PAGES (1 << 20)

void image_make(struct image *image)
{
    image->start = mmap(NULL, IMAGE_PAGES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(image->start, MAP_FAILED);
    ck_assert_int_eq(mprotect(image->start + IMAGE_PAGES, 4096, PROT_NONE), 0);
    image->size = 0;
    image->hdr = 0;
}

uintptr_t image_address(const struct image *image, size_t position)
{
    return (uintptr_t)image->start + position;
}

void image_bytes(struct image *image, const void *bytes, size_t size)
{
    ck_assert_uint_le(image->size + size, IMAGE_PAGES);
    memcpy(image->start + image->size, bytes, size);
    image->size += size;
}

void image_u8(struct image *image, uint8_t value)
{
    image_bytes(image, &value, sizeof value);
}

void image_u16(struct image *image, uint16_t value)
{
    image_bytes(image, &value, sizeof value);
}

void image_u32(struct image *image, uint32_t value)
{
    image_bytes(image, &value, sizeof value);
}

void image_u64(struct image *image, uint64_t value)
{
    image_bytes(image, &value, sizeof value);
}

void image_uleb(struct image *image, uint64_t value)
{
    do {
        image_u8(image, (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0)));
        value >>= 7;
    } while (value != 0);
}

void image_sleb(struct image *image, int64_t value)
{
    while (value < -0x40 || value > 0x3f) {
        image_u8(image, (uint8_t)((value & 0x7f) | 0x80));
        value >>= 7;
    }
    image_u8(image, (uint8_t)(value & 0x7f));
}

void image_patch_u32(struct image *image, size_t position, uint32_t value)
{
    memcpy(image->start + position, &value, sizeof value);
}

void image_header(struct image *image)
{
    image->hdr = image->size;
    image_bytes(image, IMAGE_BYTES(1, 0x1b, 0xff, 0xff));
    image_u32(image, 0);
}

void image_eh_frame_here(struct image *image)
{
    image_patch_u32(image, image->hdr + 4, (uint32_t)(image->size - (image->hdr + 4)));
}

size_t image_entry_begin(struct image *image, int length64)
{
    size_t entry = image->size;
    image_u32(image, length64 ? 0xffffffff : 0);
    if (length64)
        image_u64(image, 0);
    return entry;
}

size_t image_entry_end(struct image *image, size_t entry)
{
    while ((image->size - entry) % 8 != 0)
        image_u8(image, 0);
    uint32_t length;
    memcpy(&length, image->start + entry, sizeof length);
    if (length == 0xffffffff)
        image_patch_u32(image, entry + 4, (uint32_t)(image->size - entry - 12));
    else
        image_patch_u32(image, entry, (uint32_t)(image->size - entry - 4));
    return entry;
}

size_t image_cie(struct image *image, const struct image_cie *cie)
{
    size_t entry = image_entry_begin(image, cie->length64);
    image_u32(image, 0);
    uint8_t version = cie->version ? cie->version : 1;
    image_u8(image, version);
    const char *augmentation = cie->augmentation ? cie->augmentation : "zR";
    image_bytes(image, augmentation, strlen(augmentation) + 1);
    if (strncmp(augmentation, "eh", 2) == 0)
        image_u64(image, 0);
    if (version == 4) {
        image_u8(image, 8);
        image_u8(image, 0);
    }
    image_uleb(image, cie->code_alignment ? cie->code_alignment : 1);
    image_sleb(image, cie->data_alignment ? cie->data_alignment : -8);
    image_u8(image, cie->return_register ? cie->return_register : 16);
    const uint8_t pcrel_sdata4 = 0x1b;
    const uint8_t *data = cie->augmentation ? cie->data : &pcrel_sdata4;
    size_t data_size = cie->augmentation ? cie->data_size : 1;
    if (strchr(augmentation, 'z'))
        image_uleb(image, data_size);
    image_bytes(image, data, data_size);
    if (cie->instructions)
        image_bytes(image, cie->instructions, cie->instructions_size);
    else
        image_bytes(image, IMAGE_BYTES(0x0c, 7, 8, 0x80 + 16, 1));
    return image_entry_end(image, entry);
}

size_t image_fde(struct image *image, size_t cie, uintptr_t lo, uint32_t size, const uint8_t *instructions,
                 size_t instructions_size)
{
    size_t entry = image_entry_begin(image, 0);
    image_u32(image, (uint32_t)(image->size - cie));
    image_u32(image, (uint32_t)(lo - image_address(image, image->size)));
    image_u32(image, size);
    image_uleb(image, 0);
    image_bytes(image, instructions, instructions_size);
    return image_entry_end(image, entry);
}

void image_terminator(struct image *image)
{
    image_u32(image, 0);
}

struct sp_cfi_tables image_tables(const struct image *image)
{
    return (struct sp_cfi_tables){
        .hdr = image_address(image, image->hdr),
        .hdr_end = image_address(image, image->size),
        .segment_lo = image_address(image, 0),
        .segment_hi = image_address(image, image->size),
    };
}
