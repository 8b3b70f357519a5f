/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <string.h>
#include <sys/mman.h>

#include "symbols/why.h"

/* Larger than any program; an address space that a damaged header asks for. */
#define SPAN_MAX (UINT64_C(1) << 36)

static bool next_load(const struct sp_elf *file, size_t *index, GElf_Phdr *header)
{
    size_t count;
    if (elf_getphdrnum(file->elf, &count) != 0)
        return false;
    while (*index < count)
        if (gelf_getphdr(file->elf, (int)(*index)++, header) != NULL && header->p_type == PT_LOAD)
            return true;
    return false;
}

int sp_image_load(const struct sp_elf *file, struct sp_image *image, char **why)
{
    *image = (struct sp_image){0};
    GElf_Phdr header;
    GElf_Ehdr about;
    size_t index = 0, file_size;
    const char *raw = elf_rawfile(file->elf, &file_size);
    uint64_t low = UINT64_MAX, high = 0;
    while (next_load(file, &index, &header)) {
        if (header.p_memsz > SPAN_MAX || header.p_vaddr > UINT64_MAX - header.p_memsz ||
            header.p_filesz > header.p_memsz || header.p_offset > file_size ||
            header.p_filesz > file_size - header.p_offset) {
            sp_why(why, "%s: a segment reaches past the end of the file, or of the address space", file->path);
            return -1;
        }
        low = header.p_vaddr < low ? header.p_vaddr : low;
        high = header.p_vaddr + header.p_memsz > high ? header.p_vaddr + header.p_memsz : high;
    }
    if (raw == NULL || high <= low || high - low > SPAN_MAX) {
        bool relocatable = gelf_getehdr(file->elf, &about) != NULL && about.e_type == ET_REL;
        sp_why(why, relocatable ? "%s: a relocatable file: link it first" : "%s: it has no segments to load",
               file->path);
        return -1;
    }
    void *bytes = mmap(NULL, high - low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        sp_why(why, "%s: out of memory", file->path);
        return -1;
    }
    *image = (struct sp_image){.bytes = bytes, .size = high - low, .low = low, .bias = (uintptr_t)bytes - low};
    index = 0;
    while (next_load(file, &index, &header)) {
        uint8_t *at = image->bytes + (header.p_vaddr - low);
        memcpy(at, raw + header.p_offset, header.p_filesz);
        if ((header.p_flags & PF_X) == 0)
            continue;
        header.p_flags |= PF_R; /* here it is, also where it would be execute-only */
        sp_segments_add(&image->code, &header, at, header.p_filesz);
    }
    return 0;
}

bool sp_image_is_code(const struct sp_image *image, uint64_t address, uint64_t size)
{
    return sp_segments_at(&image->code, address, size) != NULL;
}

const uint8_t *sp_image_at(const struct sp_image *image, uint64_t address, uint64_t size)
{
    uint64_t offset = address - image->low;
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

bool sp_image_cfi(const struct sp_elf *file, const struct sp_image *image, struct sp_cfi_tables *tables)
{
    size_t count;
    if (elf_getphdrnum(file->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(file->elf, (int)i, &header) == NULL || header.p_type != PT_GNU_EH_FRAME ||
            sp_image_at(image, header.p_vaddr, header.p_memsz) == NULL)
            continue;
        *tables = (struct sp_cfi_tables){
            .hdr = header.p_vaddr + image->bias,
            .hdr_end = header.p_vaddr + header.p_memsz + image->bias,
            .segment_lo = (uintptr_t)image->bytes,
            .segment_hi = (uintptr_t)image->bytes + image->size,
        };
        return true;
    }
    return false;
}

void sp_image_free(struct sp_image *image)
{
    if (image->bytes != NULL)
        munmap(image->bytes, image->size);
    *image = (struct sp_image){0};
}
