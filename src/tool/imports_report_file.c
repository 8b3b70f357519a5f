/* SPDX-License-Identifier: MIT */
#include "imports_report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

#define CHUNK_SIZE 4096ull /* what blocks are multiples of */

static bool read_at(int file, void *buffer, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t part = pread(file, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return true;
}

static bool within(const struct imports_report *header, uint64_t at, uint64_t count, uint64_t size)
{
    return at <= header->size && size != 0 && count <= (header->size - at) / size;
}

static bool plausible(const struct imports_report *header, uint64_t size)
{
    return header->magic == IMPORTS_MAGIC && header->size == size && header->object_count <= header->object_capacity &&
           header->import_count <= header->import_capacity && header->string_size <= header->string_capacity &&
           within(header, header->objects_at, header->object_capacity, sizeof(struct imports_object)) &&
           within(header, header->imports_at, header->import_capacity, sizeof(struct imports_import)) &&
           within(header, header->strings_at, header->string_capacity, 1) && header->block_count &&
           within(header, header->blocks_at, header->block_count, sizeof(uint64_t) * header->import_capacity) &&
           header->blocks_at % CHUNK_SIZE == 0 && header->size % CHUNK_SIZE == 0;
}

/* Adds up the counter blocks. What no thread ever touched is a hole in the file, and is not read. */
static bool add_counts(int file, struct imports_report_file *report)
{
    const struct imports_report *header = &report->header;
    uint64_t block_size = (header->size - header->blocks_at) / header->block_count;
    uint64_t chunk[CHUNK_SIZE / sizeof(uint64_t)];
    for (uint64_t at = header->blocks_at; at < header->size;) {
        off_t data = lseek(file, (off_t)at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return true;
        if (data < 0)
            return false;
        at = (uint64_t)data & ~(sizeof chunk - 1);
        if (at + sizeof chunk > header->size || !read_at(file, chunk, sizeof chunk, at))
            return false;
        for (size_t i = 0; i < sizeof chunk / sizeof *chunk; i++) {
            uint64_t import = (at - header->blocks_at + i * sizeof *chunk) % block_size / sizeof *chunk;
            if (import < header->import_count)
                report->counts[import] += chunk[i];
        }
        at += sizeof chunk;
    }
    return true;
}

static bool read_all(int file, struct imports_report_file *report)
{
    struct imports_report *header = &report->header;
    struct stat status;
    if (fstat(file, &status) != 0 || !read_at(file, header, sizeof *header, 0) ||
        !plausible(header, (uint64_t)status.st_size))
        return false;
    report->objects = calloc(header->object_count + 1, sizeof *report->objects);
    report->imports = calloc(header->import_count + 1, sizeof *report->imports);
    report->strings = calloc(header->string_size + 1, 1);
    report->counts = calloc(header->import_count + 1, sizeof *report->counts);
    return report->objects && report->imports && report->strings && report->counts &&
           read_at(file, report->objects, header->object_count * sizeof *report->objects, header->objects_at) &&
           read_at(file, report->imports, header->import_count * sizeof *report->imports, header->imports_at) &&
           read_at(file, report->strings, header->string_size, header->strings_at) && add_counts(file, report);
}

int imports_report_read(const char *path, struct imports_report_file *report)
{
    memset(report, 0, sizeof *report);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && read_all(file, report);
    if (file >= 0)
        close(file);
    if (good)
        return 0;
    sp_complain("%s: the counted program left a damaged report", path);
    imports_report_free(report);
    return -1;
}

void imports_report_free(struct imports_report_file *report)
{
    free(report->objects);
    free(report->imports);
    free(report->strings);
    free(report->counts);
    memset(report, 0, sizeof *report);
}

const char *imports_report_text(const struct imports_report_file *report, uint32_t offset)
{
    return offset < report->header.string_size ? report->strings + offset : "";
}
