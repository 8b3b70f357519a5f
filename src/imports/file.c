/* SPDX-License-Identifier: MIT */
#include "imports/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS_MAX 1024
#define BLOCKS_MIN 4
#define BLOCKS_SIZE_MAX (896ull << 20)
#define STRINGS_SIZE (32u << 20)
#define PAGE 4096

struct imports_report *imports_report;
struct imports_object *imports_objects;
struct imports_import *imports_imports;

static uint64_t page_up(uint64_t size)
{
    return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static uint64_t block_size(uint32_t import_capacity)
{
    return page_up(sizeof(uint64_t) * import_capacity);
}

static struct imports_report plan(uint32_t import_capacity, uint32_t blocks_max)
{
    uint64_t blocks = BLOCKS_SIZE_MAX / block_size(import_capacity);
    struct imports_report report = {
        .magic = IMPORTS_MAGIC,
        .object_capacity = IMPORTS_OBJECTS_MAX,
        .import_capacity = import_capacity,
        .string_capacity = STRINGS_SIZE,
        .block_count = blocks < blocks_max ? (uint32_t)blocks : blocks_max,
    };
    report.objects_at = page_up(sizeof report);
    report.imports_at = report.objects_at + page_up(sizeof(struct imports_object) * IMPORTS_OBJECTS_MAX);
    report.strings_at = report.imports_at + page_up(sizeof(struct imports_import) * import_capacity);
    report.taken_at = report.strings_at + STRINGS_SIZE;
    report.blocks_at = report.taken_at + page_up(report.block_count);
    report.size = report.blocks_at + report.block_count * block_size(import_capacity);
    return report;
}

/* A file beyond the limit would not fail alone: SIGXFSZ would end the program. */
static bool within_limit(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/* Opens a new file; name: room for `size` bytes, which becomes its path. Returns -1 where that fails. */
static int create(const char *folder, char *name, size_t size)
{
    int file = -1;
    for (int attempt = 0; file < 0 && attempt < 1000; attempt++) {
        if (snprintf(name, size, "%s/%d-%d.report", folder, (int)getpid(), attempt) >= (int)size)
            return -1;
        file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            return -1;
    }
    return file;
}

/* Where the address space is limited (RLIMIT_AS) fewer threads have a block of their own. */
static void *map(int file, struct imports_report *header, uint32_t import_capacity)
{
    void *start = MAP_FAILED;
    for (uint32_t blocks = BLOCKS_MAX; start == MAP_FAILED && blocks >= BLOCKS_MIN; blocks /= 4) {
        *header = plan(import_capacity, blocks);
        if (within_limit(header->size) && ftruncate(file, (off_t)header->size) == 0)
            start = mmap(NULL, header->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    return start;
}

bool imports_file_create(const char *folder, uint32_t import_capacity)
{
    char name[4096];
    struct imports_report header;
    int file = create(folder, name, sizeof name);
    if (file < 0)
        return false;
    void *start = map(file, &header, import_capacity);
    close(file);
    if (start == MAP_FAILED) {
        unlink(name);
        return false;
    }
    char *base = start;
    struct imports_report *report = start;
    header.process = getpid();
    header.string_size = 1;
    header.processes = 1;
    memcpy(report, &header, sizeof header);
    imports_objects = (struct imports_object *)(base + header.objects_at);
    imports_imports = (struct imports_import *)(base + header.imports_at);
    imports_report = report;
    return true;
}

uint32_t imports_file_string(const char *text)
{
    size_t size = strlen(text) + 1;
    uint32_t offset = imports_report->string_size;
    if (size == 1)
        return 0;
    if (size > imports_report->string_capacity - offset) {
        imports_report->lost++;
        return 0;
    }
    memcpy((char *)imports_report + imports_report->strings_at + offset, text, size);
    imports_report->string_size = offset + (uint32_t)size;
    return offset;
}

const char *imports_file_text(uint32_t offset)
{
    return (const char *)imports_report + imports_report->strings_at + offset;
}

uint32_t imports_file_claim(uint32_t count)
{
    uint32_t first = imports_report->import_count;
    do {
        if (count > imports_report->import_capacity - first)
            return UINT32_MAX;
    } while (!atomic_compare_exchange_weak(&imports_report->import_count, &first, first + count));
    return first;
}

_Atomic uint64_t *imports_file_block(uint32_t index)
{
    return (_Atomic uint64_t *)((char *)imports_report + imports_report->blocks_at +
                                index * block_size(imports_report->import_capacity));
}
