/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "symbols/why.h"
#include "word/record.h"

/* bytes: the descriptor, of so many bytes, at a virtual address. */
static int add_note(struct sp_frame_records *records, const uint8_t *bytes, uint64_t address, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += sizeof(struct sp_record)) {
        struct sp_record record;
        memcpy(&record, bytes + at, sizeof record);
        if (record.size == 0)
            continue;
        if (records->count == records->capacity) {
            size_t capacity = records->capacity == 0 ? 256 : 2 * records->capacity;
            struct sp_frame_record *moved = realloc(records->records, capacity * sizeof *moved);
            if (moved == NULL)
                return -1;
            records->records = moved;
            records->capacity = capacity;
        }
        records->records[records->count++] = (struct sp_frame_record){
            address + at + (uint64_t)(int64_t)record.start, record.size, (uint64_t)(int64_t)(int32_t)record.word};
    }
    return 0;
}

/* All notes of a segment: other owners' are passed over. */
static int read_segment(const struct sp_elf *file, const struct sp_segments *segments, const GElf_Phdr *header,
                        struct sp_frame_records *records, char **why)
{
    uint64_t mask = header->p_align == 8 ? 7 : 3, at = 0;
    const uint8_t *notes = sp_segments_at(segments, header->p_vaddr, header->p_filesz);
    if (notes == NULL)
        return 0;
    while (header->p_filesz - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note, descriptor = (name + note.n_namesz + mask) & ~mask;
        uint64_t next = (descriptor + note.n_descsz + mask) & ~mask;
        if (descriptor > header->p_filesz || note.n_descsz > header->p_filesz - descriptor) {
            sp_why(why, "%s: the note at 0x%" PRIx64 " reaches past its segment", file->path, header->p_vaddr + at);
            return -1;
        }
        if (note.n_type == SP_NOTE_FRAMES && note.n_namesz == sizeof SP_NOTE_OWNER &&
            memcmp(notes + name, SP_NOTE_OWNER, sizeof SP_NOTE_OWNER) == 0) {
            if (note.n_descsz % sizeof(struct sp_record) != 0) {
                sp_why(why, "%s: the note of frame records at 0x%" PRIx64 " is %" PRIu32 " bytes, no multiple of %zu",
                       file->path, header->p_vaddr + at, note.n_descsz, sizeof(struct sp_record));
                return -1;
            }
            if (add_note(records, notes + descriptor, header->p_vaddr + descriptor, note.n_descsz) != 0) {
                sp_why(why, "%s: out of memory", file->path);
                return -1;
            }
        }
        if (next > header->p_filesz)
            break;
        at = next;
    }
    return 0;
}

static int by_start(const void *left, const void *right)
{
    const struct sp_frame_record *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

int sp_frame_records_read(const struct sp_elf *file, const struct sp_image *image, struct sp_frame_records *records,
                          char **why)
{
    struct sp_segments segments;
    size_t count;
    sp_elf_segments(file, &segments);
    if (elf_getphdrnum(file->elf, &count) != 0)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(file->elf, (int)i, &header) != NULL && header.p_type == PT_NOTE &&
            read_segment(file, &segments, &header, records, why) != 0)
            return -1;
    }
    for (size_t i = 0; i < records->count; i++) {
        const struct sp_frame_record *record = &records->records[i];
        if (!sp_image_is_code(image, record->start, record->size)) {
            sp_why(why, "%s: a frame record is for 0x%" PRIx64 " and %" PRIu64 " bytes on, where the file has no code",
                   file->path, record->start, record->size);
            return -1;
        }
    }
    if (records->count > 0)
        qsort(records->records, records->count, sizeof *records->records, by_start);
    return 0;
}
