/* SPDX-License-Identifier: MIT */
#include "map_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "byte_buffer.h"
#include "map_tokens.h"
#include "symbols/map_format.h"

/* A section of blocks and the index that leads to them. */
struct blocks {
    struct sp_byte_buffer data;
    struct sp_byte_buffer starts;
    struct sp_byte_buffer offsets;
    uint32_t count;
};

static void begin_block(struct blocks *blocks, uint64_t start)
{
    sp_bytes_add_int(&blocks->starts, start, 8);
    sp_bytes_add_int(&blocks->offsets, blocks->data.size, 4);
    blocks->count++;
}

static uint8_t tail_of(const struct sp_range *range, const struct sp_candidate *function, const struct sp_range *next)
{
    if (next == NULL || range->start != function->start)
        return SP_MAP_TAIL_EXPLICIT;
    if (function->size == 0)
        return range->end == next->start ? SP_MAP_TAIL_UNSIZED : SP_MAP_TAIL_EXPLICIT;
    uint64_t gap = next->start - range->end;
    return function->size == range->end - range->start && gap < SP_MAP_TAIL_UNSIZED ? (uint8_t)gap
                                                                                    : SP_MAP_TAIL_EXPLICIT;
}

static int add_record(struct blocks *blocks, const struct sp_tokens *tokens, const struct sp_range *range,
                      const struct sp_candidate *function, uint8_t tail)
{
    if (tail == SP_MAP_TAIL_EXPLICIT) {
        sp_bytes_add_number(&blocks->data, range->end - range->start);
        sp_bytes_add_number(&blocks->data, function->size);
        sp_bytes_add_number(&blocks->data, range->start - function->start);
    }
    uint8_t short_name[512], *name = short_name;
    if (function->name_length > sizeof short_name && (name = malloc(function->name_length)) == NULL)
        return -1;
    memcpy(name, function->name, function->name_length);
    size_t length = sp_tokens_encode(tokens, name, function->name_length);
    sp_bytes_add_number(&blocks->data, length);
    sp_bytes_add(&blocks->data, name, length);
    if (name != short_name)
        free(name);
    return 0;
}

static int make_functions(const struct sp_function_table *table, const struct sp_tokens *tokens, struct blocks *blocks)
{
    const struct sp_range *ranges = table->ranges.ranges;
    size_t total = table->ranges.count;
    for (size_t first = 0, count; first < total; first += count) {
        begin_block(blocks, ranges[first].start);
        for (count = 1; count < SP_MAP_BLOCK_FUNCTIONS && first + count < total; count++)
            if (ranges[first + count].start - ranges[first].start > UINT16_MAX)
                break;
        sp_bytes_add_int(&blocks->data, count, 1);
        for (size_t i = 1; i < count; i++)
            sp_bytes_add_int(&blocks->data, ranges[first + i].start - ranges[first].start, 2);
        uint8_t tails[SP_MAP_BLOCK_FUNCTIONS];
        for (size_t i = 0; i < count; i++) {
            const struct sp_range *range = &ranges[first + i];
            tails[i] = tail_of(range, &table->functions[range->item], first + i + 1 < total ? range + 1 : NULL);
        }
        sp_bytes_add(&blocks->data, tails, count);
        for (size_t i = 0; i < count; i++) {
            const struct sp_range *range = &ranges[first + i];
            if (add_record(blocks, tokens, range, &table->functions[range->item], tails[i]) != 0)
                return -1;
        }
    }
    return 0;
}

static void make_lines(const struct sp_map_contents *contents, struct blocks *blocks)
{
    for (size_t first = 0, count; first < contents->row_count; first += count) {
        const struct sp_map_row *rows = contents->rows + first;
        size_t left = contents->row_count - first;
        count = left < SP_MAP_BLOCK_ROWS ? left : SP_MAP_BLOCK_ROWS;
        begin_block(blocks, rows[0].address);
        sp_bytes_add_number(&blocks->data, count);
        struct sp_map_row before = {.address = rows[0].address};
        for (size_t i = 0; i < count; i++) {
            sp_bytes_add_number(&blocks->data, rows[i].address - before.address);
            sp_bytes_add_signed(&blocks->data, (int64_t)rows[i].file - before.file);
            sp_bytes_add_signed(&blocks->data, (int64_t)rows[i].line - before.line);
            before = rows[i];
        }
    }
}

static void make_files(const struct sp_map_contents *contents, struct sp_byte_buffer *section)
{
    struct sp_byte_buffer paths = {0};
    sp_bytes_add_int(section, contents->file_count, 4);
    for (size_t i = 0; i < contents->file_count; i++) {
        sp_bytes_add_int(section, paths.size, 4);
        sp_bytes_add(&paths, contents->files[i], strlen(contents->files[i]));
    }
    sp_bytes_add_int(section, paths.size, 4);
    sp_bytes_add(section, paths.bytes, paths.size);
    section->failed |= paths.failed;
    free(paths.bytes);
}

static void make_token_table(const struct sp_tokens *tokens, struct sp_byte_buffer *section)
{
    uint16_t offset = 0;
    for (unsigned i = 0; i <= 256; i++) {
        sp_bytes_add_int(section, offset, 2);
        if (i < 256)
            offset += tokens->lengths[i];
    }
    for (unsigned i = 0; i < 256; i++)
        sp_bytes_add(section, tokens->strings[i], tokens->lengths[i]);
}

static void make_index(struct blocks *blocks, size_t entries, struct sp_byte_buffer *section)
{
    sp_bytes_add_int(&blocks->offsets, blocks->data.size, 4);
    sp_bytes_add_int(section, entries, 4);
    sp_bytes_add_int(section, blocks->count, 4);
    sp_bytes_add(section, blocks->starts.bytes, blocks->starts.size);
    sp_bytes_add(section, blocks->offsets.bytes, blocks->offsets.size);
    section->failed |= blocks->starts.failed || blocks->offsets.failed || blocks->data.failed;
    free(blocks->starts.bytes);
    free(blocks->offsets.bytes);
}

/* sections: by type; those of size 0 are left out. */
static struct sp_byte_buffer join(const struct sp_byte_buffer *sections)
{
    struct sp_byte_buffer file = {0};
    struct sp_map_header header = {.magic = SP_MAP_MAGIC, .version = SP_MAP_VERSION};
    for (unsigned type = 1; type <= SP_MAP_LINE_DATA; type++)
        header.sections += sections[type].size > 0;
    uint64_t offset = sizeof header + header.sections * sizeof(struct sp_map_section);
    header.size = offset;
    for (unsigned type = 1; type <= SP_MAP_LINE_DATA; type++)
        header.size += sections[type].size;
    sp_bytes_add(&file, &header, sizeof header);
    for (unsigned type = 1; type <= SP_MAP_LINE_DATA; type++) {
        struct sp_map_section entry = {type, 0, offset, sections[type].size};
        if (entry.size > 0)
            sp_bytes_add(&file, &entry, sizeof entry);
        offset += entry.size;
    }
    for (unsigned type = 1; type <= SP_MAP_LINE_DATA; type++) {
        sp_bytes_add(&file, sections[type].bytes, sections[type].size);
        file.failed |= sections[type].failed;
    }
    return file;
}

int sp_map_make(const struct sp_map_contents *contents, uint8_t **bytes, size_t *size)
{
    struct sp_byte_buffer sections[SP_MAP_LINE_DATA + 1] = {{0}};
    struct sp_tokens *tokens = malloc(sizeof *tokens);
    struct blocks functions = {0}, lines = {0};
    int status = -1;
    if (tokens != NULL && sp_tokens_train(tokens, contents->functions) == 0)
        status = make_functions(contents->functions, tokens, &functions);
    if (status == 0) {
        sp_bytes_add(&sections[SP_MAP_BUILD_ID], contents->build_id, contents->build_id_size);
        make_token_table(tokens, &sections[SP_MAP_TOKENS]);
        make_index(&functions, contents->functions->ranges.count, &sections[SP_MAP_FUNCTIONS]);
        if (contents->rows != NULL) {
            make_lines(contents, &lines);
            make_files(contents, &sections[SP_MAP_FILES]);
            make_index(&lines, contents->row_count, &sections[SP_MAP_LINES]);
        }
    }
    sections[SP_MAP_FUNCTION_DATA] = functions.data;
    sections[SP_MAP_LINE_DATA] = lines.data;
    struct sp_byte_buffer file = {.failed = true};
    if (status == 0)
        file = join(sections);
    errno = ENOMEM;
    if (functions.data.size > UINT32_MAX || lines.data.size > UINT32_MAX) {
        file.failed = true;
        errno = EFBIG;
    }
    for (unsigned type = 1; type <= SP_MAP_LINE_DATA; type++)
        free(sections[type].bytes);
    free(tokens);
    if (file.failed) {
        free(file.bytes);
        return -1;
    }
    *bytes = file.bytes;
    *size = file.size;
    return 0;
}
