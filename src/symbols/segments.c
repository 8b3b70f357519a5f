/* SPDX-License-Identifier: MIT */
#include "segments.h"

#include <string.h>

void sp_segments_add(struct sp_segments *segments, const Elf64_Phdr *header, const uint8_t *bytes, uint64_t size)
{
    if (header->p_type == PT_DYNAMIC) {
        segments->dynamic = header->p_vaddr;
        segments->dynamic_size = header->p_memsz;
    } else if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0 && segments->count < SP_SEGMENT_MAX) {
        segments->loads[segments->count++] = (struct sp_segment){header->p_vaddr, size, bytes};
    }
}

static const struct sp_segment *segment_of(const struct sp_segments *segments, uint64_t address)
{
    for (size_t i = 0; i < segments->count; i++) {
        const struct sp_segment *segment = &segments->loads[i];
        if (address >= segment->address && address - segment->address < segment->size)
            return segment;
    }
    return NULL;
}

const void *sp_segments_at(const struct sp_segments *segments, uint64_t address, uint64_t size)
{
    const struct sp_segment *segment = segment_of(segments, address);
    if (segment == NULL || size > segment->size - (address - segment->address))
        return NULL;
    return segment->bytes + (address - segment->address);
}

uint64_t sp_segments_room(const struct sp_segments *segments, uint64_t address)
{
    const struct sp_segment *segment = segment_of(segments, address);
    return segment == NULL ? 0 : segment->size - (address - segment->address);
}

const void *sp_note_find(const uint8_t *notes, uint64_t size, uint64_t align, const char *owner, uint32_t type,
                         uint32_t *descriptor_size)
{
    /* gABI: 4; notes of 8-byte alignment (.note.gnu.property) are padded to 8. */
    uint64_t mask = align == 8 ? 7 : 3;
    uint64_t at = 0, owner_size = strlen(owner) + 1;
    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr header;
        memcpy(&header, notes + at, sizeof header);
        uint64_t name = at + sizeof header;
        uint64_t descriptor = (name + header.n_namesz + mask) & ~mask;
        uint64_t next = (descriptor + header.n_descsz + mask) & ~mask;
        if (descriptor > size || header.n_descsz > size - descriptor)
            return NULL;
        if (header.n_type == type && header.n_namesz == owner_size && memcmp(notes + name, owner, owner_size) == 0) {
            *descriptor_size = header.n_descsz;
            return notes + descriptor;
        }
        if (next > size)
            return NULL;
        at = next;
    }
    return NULL;
}

const uint8_t *sp_segments_build_id(const struct sp_segments *segments, const Elf64_Phdr *header, uint32_t *size)
{
    if (header->p_type != PT_NOTE)
        return NULL;
    const uint8_t *notes = sp_segments_at(segments, header->p_vaddr, header->p_memsz);
    if (notes == NULL)
        return NULL;
    return sp_note_find(notes, header->p_memsz, header->p_align, ELF_NOTE_GNU, NT_GNU_BUILD_ID, size);
}
