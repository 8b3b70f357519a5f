/* SPDX-License-Identifier: MIT */
/*
 * What a module has loaded, seen through its program headers: bytes by virtual address, whether they are mapped in this
 * process or lie in a file. Section headers, which may be gone, are not needed.
 *
 * Everything here is async-signal-safe and reads nothing outside the segments.
 */
#ifndef SPWALK_SEGMENTS_H
#define SPWALK_SEGMENTS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_SEGMENT_MAX 16

struct sp_segment {
    uint64_t address; /* p_vaddr */
    uint64_t size;
    const uint8_t *bytes;
};

struct sp_segments {
    struct sp_segment loads[SP_SEGMENT_MAX]; /* readable ones; more than fit are left out */
    size_t count;
    uint64_t dynamic; /* PT_DYNAMIC's p_vaddr and size; 0: there is none */
    uint64_t dynamic_size;
    uint64_t bias; /* what a loader may have added to the addresses in PT_DYNAMIC; 0 in a file */
};

/* Takes up one program header; bytes is where the segment's first byte is, readable bytes from there on. */
void sp_segments_add(struct sp_segments *segments, const Elf64_Phdr *header, const uint8_t *bytes, uint64_t size);

/* size bytes at a virtual address, or NULL where not all of them are in one segment. */
const void *sp_segments_at(const struct sp_segments *segments, uint64_t address, uint64_t size);

/* How many bytes there are from a virtual address to the end of its segment; 0 where it is in none. */
uint64_t sp_segments_room(const struct sp_segments *segments, uint64_t address);

/* A note of a type and owner among the notes of one PT_NOTE: its descriptor and size, or NULL. */
const void *sp_note_find(const uint8_t *notes, uint64_t size, uint64_t align, const char *owner, uint32_t type,
                         uint32_t *descriptor_size);

/* The build-id in the notes of a program header, as far as a segment has them; NULL: none is there. */
const uint8_t *sp_segments_build_id(const struct sp_segments *segments, const Elf64_Phdr *header, uint32_t *size);

#endif
