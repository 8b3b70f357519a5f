/* SPDX-License-Identifier: MIT */
#include "map_view.h"

#include <string.h>

static uint16_t load16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t load32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t load64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* A place in a block, and the block's end. */
struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool failed; /* what was read past the end is 0 */
};

static uint64_t read_number(struct cursor *cursor)
{
    uint64_t value = 0;
    if (cursor->at < cursor->end && *cursor->at < 0x80)
        return *cursor->at++;
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    cursor->failed = true;
    return 0;
}

static int64_t read_signed(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            if ((byte & 0x40) != 0 && shift + 7 < 64)
                value |= ~UINT64_C(0) << (shift + 7);
            return (int64_t)value;
        }
    }
    cursor->failed = true;
    return 0;
}

static const char *open_blocks(struct sp_map_bytes index, struct sp_map_bytes data, struct sp_map_blocks *blocks)
{
    struct sp_map_index header;
    if (index.bytes == NULL)
        return NULL;
    if (index.size < sizeof header)
        return "an index is shorter than its header";
    memcpy(&header, index.bytes, sizeof header);
    uint64_t starts = 8 * (uint64_t)header.blocks, offsets = 4 * ((uint64_t)header.blocks + 1);
    if (index.size != sizeof header + starts + offsets)
        return "the size of an index does not fit its count of blocks";
    *blocks = (struct sp_map_blocks){header.blocks, header.entries, index.bytes + sizeof header,
                                     index.bytes + sizeof header + starts, data};
    for (uint32_t i = 0; i < header.blocks; i++) {
        uint32_t offset = load32(blocks->offsets + 4 * (uint64_t)i);
        if (offset >= load32(blocks->offsets + 4 * ((uint64_t)i + 1)) ||
            (i > 0 && load64(blocks->starts + 8 * (uint64_t)(i - 1)) >= load64(blocks->starts + 8 * (uint64_t)i)))
            return "an index is not in ascending order";
    }
    if (load32(blocks->offsets + 4 * (uint64_t)header.blocks) > data.size)
        return "an index leads past the end of its data";
    return NULL;
}

static const char *check_tokens(struct sp_map_bytes tokens)
{
    const uint64_t table = 2 * 257;
    if (tokens.bytes == NULL)
        return "there is no token table";
    if (tokens.size < table)
        return "the token table is cut short";
    for (unsigned i = 0; i < 256; i++)
        if (load16(tokens.bytes + 2 * i) > load16(tokens.bytes + 2 * i + 2))
            return "the token table is not in ascending order";
    return load16(tokens.bytes + 2 * 256) > tokens.size - table ? "the token table leads past its end" : NULL;
}

static const char *check_files(struct sp_map_bytes files)
{
    if (files.bytes == NULL)
        return NULL;
    if (files.size < 8 || 4 * ((uint64_t)load32(files.bytes) + 2) > files.size)
        return "the file table is cut short";
    uint64_t count = load32(files.bytes), table = 4 * (count + 2);
    for (uint64_t i = 0; i < count; i++)
        if (load32(files.bytes + 4 + 4 * i) > load32(files.bytes + 8 + 4 * i))
            return "the file table is not in ascending order";
    return load32(files.bytes + 4 + 4 * count) > files.size - table ? "the file table leads past its end" : NULL;
}

const char *sp_map_view_open(const void *bytes, uint64_t size, struct sp_map_view *view)
{
    struct sp_map_header header;
    struct sp_map_bytes known[SP_MAP_LINE_DATA + 1] = {{0}};
    *view = (struct sp_map_view){0};
    if (size < sizeof header)
        return "it is shorter than a map's header";
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, SP_MAP_MAGIC, sizeof header.magic) != 0)
        return "it is not a name map";
    if (header.version != SP_MAP_VERSION)
        return "its version is not known to this program";
    if (header.size != size)
        return "its size is not the one in its header: it is cut short or grown";
    if (header.sections > (size - sizeof header) / sizeof(struct sp_map_section))
        return "its directory of sections is cut short";
    for (unsigned i = 0; i < header.sections; i++) {
        struct sp_map_section section;
        memcpy(&section, (const uint8_t *)bytes + sizeof header + i * sizeof section, sizeof section);
        if (section.offset > size || section.size > size - section.offset)
            return "a section reaches past its end";
        if (section.type == 0 || section.type > SP_MAP_LINE_DATA)
            continue;
        if (known[section.type].bytes != NULL)
            return "it has two sections of one type";
        known[section.type] = (struct sp_map_bytes){(const uint8_t *)bytes + section.offset, section.size};
    }
    view->build_id = known[SP_MAP_BUILD_ID];
    view->tokens = known[SP_MAP_TOKENS];
    view->files = known[SP_MAP_FILES];
    const char *wrong = check_tokens(view->tokens);
    if (wrong == NULL)
        wrong = check_files(view->files);
    if (wrong == NULL)
        wrong = open_blocks(known[SP_MAP_FUNCTIONS], known[SP_MAP_FUNCTION_DATA], &view->functions);
    if (wrong == NULL)
        wrong = open_blocks(known[SP_MAP_LINES], known[SP_MAP_LINE_DATA], &view->lines);
    return wrong;
}

/* The block that an address is in, as far as starts tell: the last that begins at or below it. */
static bool find_block(const struct sp_map_blocks *blocks, uint64_t address, uint32_t *block)
{
    const uint8_t *starts = blocks->starts;
    uint32_t base = 0, count = blocks->blocks;
    if (count == 0 || address < load64(starts))
        return false;
    /* Halves without a branch to mispredict. */
    while (count > 1) {
        uint32_t half = count / 2;
        base = load64(starts + 8 * (uint64_t)(base + half)) <= address ? base + half : base;
        count -= half;
    }
    *block = base;
    return true;
}

static struct cursor open_block(const struct sp_map_blocks *blocks, uint32_t block)
{
    uint32_t offset = load32(blocks->offsets + 4 * (uint64_t)block);
    uint32_t next = load32(blocks->offsets + 4 * ((uint64_t)block + 1));
    return (struct cursor){blocks->data.bytes + offset, blocks->data.bytes + next, false};
}

/* What one record says beside the tails. */
struct record {
    uint64_t covers;
    uint64_t size;
    uint64_t before;
    struct sp_map_bytes name;
};

static bool read_record(struct cursor *cursor, uint8_t tail, struct record *record)
{
    *record = (struct record){0};
    if (tail == SP_MAP_TAIL_EXPLICIT) {
        record->covers = read_number(cursor);
        record->size = read_number(cursor);
        record->before = read_number(cursor);
    }
    uint64_t length = read_number(cursor);
    if (cursor->failed || length > (uint64_t)(cursor->end - cursor->at))
        return false;
    record->name = (struct sp_map_bytes){cursor->at, length};
    cursor->at += length;
    return true;
}

/* The last function of a block that begins at or below an address, and where what it covers ends. */
static bool find_in_block(const struct sp_map_view *view, uint32_t block, uint64_t address,
                          struct sp_map_function *function, uint64_t *end)
{
    const struct sp_map_blocks *blocks = &view->functions;
    struct cursor cursor = open_block(blocks, block);
    uint32_t count = *cursor.at++;
    if (count == 0 || count > SP_MAP_BLOCK_FUNCTIONS || cursor.end - cursor.at < (ptrdiff_t)(3 * count - 2))
        return false;
    const uint8_t *starts = cursor.at, *tails = starts + 2 * (count - 1);
    uint64_t first = load64(blocks->starts + 8 * (uint64_t)block), offset = address - first;
    uint32_t index = 0;
    while (index + 1 < count && load16(starts + 2 * index) <= offset)
        index++;
    struct record record;
    cursor.at = tails + count;
    for (uint32_t i = 0; i <= index; i++)
        if (!read_record(&cursor, tails[i], &record))
            return false;
    uint64_t start = index == 0 ? first : first + load16(starts + 2 * (index - 1));
    uint64_t next = UINT64_MAX;
    if (index + 1 < count)
        next = first + load16(starts + 2 * index);
    else if (block + 1 < blocks->blocks)
        next = load64(blocks->starts + 8 * ((uint64_t)block + 1));
    uint8_t tail = tails[index];
    *function = (struct sp_map_function){start - record.before, record.size, record.name};
    if (tail == SP_MAP_TAIL_EXPLICIT) {
        *end = start + record.covers;
    } else if (tail == SP_MAP_TAIL_UNSIZED) {
        *end = next;
    } else {
        *end = next - tail;
        function->size = *end - start;
    }
    return true;
}

bool sp_map_view_find(const struct sp_map_view *view, uint64_t address, struct sp_map_function *function,
                      enum sp_miss *miss)
{
    uint32_t block;
    uint64_t end;
    *miss = SP_MISS_NONE;
    if (view->functions.blocks == 0) {
        *miss = SP_MISS_NO_SYMBOLS;
        return false;
    }
    if (!find_block(&view->functions, address, &block)) {
        *miss = SP_MISS_BEFORE_FIRST;
        return false;
    }
    if (!find_in_block(view, block, address, function, &end)) {
        *miss = SP_MISS_UNREADABLE;
        return false;
    }
    if (address < end)
        return true;
    *miss = SP_MISS_GAP;
    /* The last function: that nothing follows it within its block is seen by asking for the highest address. */
    struct sp_map_function last;
    uint64_t last_end;
    if (block + 1 == view->functions.blocks && find_in_block(view, block, UINT64_MAX, &last, &last_end) &&
        address >= last_end)
        *miss = SP_MISS_AFTER_LAST;
    return false;
}

bool sp_map_view_below(const struct sp_map_view *view, uint64_t address, struct sp_map_function *function)
{
    uint32_t block;
    uint64_t end;
    return find_block(&view->functions, address, &block) && find_in_block(view, block, address, function, &end);
}

/* Most strings are shorter, and a copy of a fixed size, of which the rest is written over, is one instruction. */
#define CHUNK 16

uint64_t sp_map_view_name(const struct sp_map_view *view, const struct sp_map_function *function, char *text,
                          uint64_t size)
{
    const uint8_t *offsets = view->tokens.bytes, *strings = offsets + 2 * 257;
    const uint64_t strings_size = view->tokens.size - 2 * 257;
    uint64_t length = 0;
    for (uint64_t i = 0; i < function->name.size; i++) {
        unsigned token = function->name.bytes[i];
        uint32_t from = load16(offsets + 2 * token), to = load16(offsets + 2 * token + 2);
        if (to - from <= CHUNK && from + CHUNK <= strings_size && length + CHUNK < size) {
            memcpy(text + length, strings + from, CHUNK);
            length += to - from;
            continue;
        }
        for (; from < to; from++, length++)
            if (length + 1 < size)
                text[length] = (char)strings[from];
    }
    if (size > 0)
        text[length < size ? length : size - 1] = '\0';
    return length;
}

bool sp_map_view_line(const struct sp_map_view *view, uint64_t address, struct sp_map_bytes *file, uint32_t *line)
{
    uint32_t block;
    if (view->files.bytes == NULL || !find_block(&view->lines, address, &block))
        return false;
    struct cursor cursor = open_block(&view->lines, block);
    uint64_t at = load64(view->lines.starts + 8 * (uint64_t)block), rows = read_number(&cursor);
    int64_t file_now = 0, line_now = 0, file_found = 0, line_found = 0;
    for (uint64_t i = 0; i < rows && i < SP_MAP_BLOCK_ROWS; i++) {
        at += read_number(&cursor);
        file_now = (int64_t)((uint64_t)file_now + (uint64_t)read_signed(&cursor));
        line_now = (int64_t)((uint64_t)line_now + (uint64_t)read_signed(&cursor));
        if (cursor.failed)
            return false;
        if (at > address)
            break;
        file_found = file_now;
        line_found = line_now;
    }
    uint32_t count = load32(view->files.bytes);
    if (line_found <= 0 || line_found > UINT32_MAX || file_found < 0 || file_found >= count)
        return false;
    const uint8_t *offsets = view->files.bytes + 4 + 4 * file_found;
    file->bytes = view->files.bytes + 4 * ((uint64_t)count + 2) + load32(offsets);
    file->size = load32(offsets + 4) - load32(offsets);
    *line = (uint32_t)line_found;
    return true;
}
