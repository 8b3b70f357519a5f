/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "word/record.h"
#include "word/word.h"

static int complain(const char *path, const char *what, uint64_t address)
{
    fprintf(stderr, "%s: %s (at 0x%llx)\n", path, what, (unsigned long long)address);
    return -1;
}

static bool is_executable(Elf *elf, uint64_t start, uint64_t end)
{
    size_t count;
    GElf_Phdr header;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD && (header.p_flags & PF_X) &&
            start >= header.p_vaddr && end <= header.p_vaddr + header.p_memsz)
            return true;
    return false;
}

static int add_record(const char *path, Elf *elf, struct covered_ranges *records, struct sp_record record, uint64_t at)
{
    uint64_t start = at + (uint64_t)(int64_t)record.start;
    if (record.size == 0)
        return 0;
    if (!sp_word_is_tagged((uint64_t)(int64_t)(int32_t)record.word))
        return complain(path, "the record's word has no tag", at);
    if (!is_executable(elf, start, start + record.size))
        return complain(path, "the record is not of executable code", at);
    records->ranges = realloc(records->ranges, (records->count + 1) * sizeof *records->ranges);
    records->ranges[records->count++] = (struct covered_range){start, start + record.size, record.word};
    return 0;
}

static int read_notes(const char *path, Elf *elf, const GElf_Phdr *header, struct covered_ranges *records)
{
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz,
                                          header->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    size_t offset = 0, name, desc;
    GElf_Nhdr note;
    int status = 0;

    if (data == NULL)
        return complain(path, "a PT_NOTE segment is not in the file", header->p_vaddr);
    while (offset < data->d_size && (offset = gelf_getnote(data, offset, &note, &name, &desc)) > 0) {
        if (note.n_namesz != sizeof SP_NOTE_OWNER || strcmp((char *)data->d_buf + name, SP_NOTE_OWNER) != 0)
            continue;
        uint64_t address = header->p_vaddr + desc;
        if (note.n_type != SP_NOTE_FRAMES || note.n_descsz % sizeof(struct sp_record) != 0)
            return complain(path, "a note of an unknown type or of a size that is no multiple of a record's", address);
        records->notes++;
        for (size_t i = 0; i < note.n_descsz; i += sizeof(struct sp_record)) {
            struct sp_record record;
            memcpy(&record, (char *)data->d_buf + desc + i, sizeof record);
            status |= add_record(path, elf, records, record, address + i);
        }
    }
    return status;
}

static int by_start(const void *a, const void *b)
{
    const struct covered_range *first = a, *second = b;
    return first->start < second->start ? -1 : first->start > second->start;
}

int read_records(const char *path, struct covered_ranges *records)
{
    *records = (struct covered_ranges){0};
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    size_t count = 0;
    GElf_Phdr header;
    int status = 0;

    if (elf == NULL || elf_getphdrnum(elf, &count) != 0)
        status = complain(path, "cannot be read as an ELF file", 0);
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_NOTE)
            status |= read_notes(path, elf, &header, records);
    if (records->count > 0)
        qsort(records->ranges, records->count, sizeof *records->ranges, by_start);
    for (size_t i = 1; i < records->count; i++)
        if (records->ranges[i].start < records->ranges[i - 1].end)
            status = complain(path, "two records overlap", records->ranges[i].start);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return status;
}

const struct covered_range *find_range(const struct covered_ranges *records, uint64_t address)
{
    size_t low = 0, high = records->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address < records->ranges[middle].start)
            high = middle;
        else if (address >= records->ranges[middle].end)
            low = middle + 1;
        else
            return &records->ranges[middle];
    }
    return NULL;
}
