/* SPDX-License-Identifier: MIT */
/* From a pc to its FDE (Linux Standard Base Core 5.0, section 10.6.2), and on to its row. */
#include "bytes.h"
#include "cfi.h"
#include "encoding.h"
#include "fde.h"
#include "program.h"

#include <stddef.h>

#define HDR_VERSION 1

/* .eh_frame_hdr, its pointers decoded. */
struct header {
    uintptr_t eh_frame;
    uintptr_t table; /* 0: no table that can be searched */
    size_t count;
    uint8_t encoding;   /* of the table's entries */
    uint8_t entry_size; /* two pointers of that encoding */
};

struct table_entry {
    uintptr_t start; /* of a function */
    uintptr_t fde;
};

static bool read_header(const struct sp_cfi_tables *tables, struct header *header)
{
    if (tables->hdr < tables->segment_lo || tables->hdr_end > tables->segment_hi)
        return false;
    struct sp_bytes bytes = sp_bytes_make(tables->hdr, tables->hdr_end);
    const struct sp_encoding_bases bases = {tables->hdr, 0};
    uint8_t version = sp_bytes_u8(&bytes);
    uint8_t eh_frame_encoding = sp_bytes_u8(&bytes);
    uint8_t count_encoding = sp_bytes_u8(&bytes);
    header->encoding = sp_bytes_u8(&bytes);
    header->eh_frame = sp_encoding_pointer(&bytes, eh_frame_encoding, &bases, tables);
    if (bytes.bad || version != HDR_VERSION)
        return false;

    header->table = 0;
    if (count_encoding == SP_PE_OMIT || header->encoding == SP_PE_OMIT || header->encoding & SP_PE_INDIRECT)
        return true;
    uint64_t count = sp_encoding_pointer(&bytes, count_encoding, &bases, tables);
    header->entry_size = 2 * sp_encoding_size(header->encoding);
    if (bytes.bad || header->entry_size == 0 || count > (bytes.end - bytes.at) / header->entry_size)
        return true;
    header->table = bytes.at;
    header->count = count;
    return true;
}

static struct table_entry read_table_entry(const struct sp_cfi_tables *tables, const struct header *header,
                                           size_t index)
{
    uintptr_t at = header->table + index * header->entry_size;
    struct sp_bytes bytes = sp_bytes_make(at, at + header->entry_size);
    if (header->encoding == (SP_PE_DATAREL | SP_PE_SDATA4)) {
        int32_t start = (int32_t)sp_bytes_u32(&bytes);
        int32_t fde = (int32_t)sp_bytes_u32(&bytes);
        return (struct table_entry){tables->hdr + (uintptr_t)(intptr_t)start, tables->hdr + (uintptr_t)(intptr_t)fde};
    }
    const struct sp_encoding_bases bases = {tables->hdr, 0};
    uintptr_t start = sp_encoding_pointer(&bytes, header->encoding, &bases, tables);
    uintptr_t fde = sp_encoding_pointer(&bytes, header->encoding, &bases, tables);
    return (struct table_entry){start, fde};
}

static enum sp_cfi_status search_table(const struct sp_cfi_tables *tables, const struct header *header, uintptr_t pc,
                                       struct sp_fde *fde)
{
    size_t below = 0,
           above = header->count; /* entries before `below` start at or below pc, those from `above` past it */
    while (below < above) {
        size_t middle = below + (above - below) / 2;
        if (read_table_entry(tables, header, middle).start <= pc)
            below = middle + 1;
        else
            above = middle;
    }
    /* The nearest, and those with the same start: one of them may be empty. */
    uintptr_t start = 0;
    for (size_t index = below; index-- > 0;) {
        struct table_entry found = read_table_entry(tables, header, index);
        if (index + 1 != below && found.start != start)
            break;
        start = found.start;
        struct sp_entry entry;
        if (sp_entry_read(tables, found.fde, &entry) != SP_CFI_OK)
            return SP_CFI_BAD;
        enum sp_cfi_status status = sp_fde_read(tables, &entry, fde);
        if (status == SP_CFI_BAD)
            return SP_CFI_BAD;
        if (status == SP_CFI_OK && pc >= fde->lo && pc < fde->hi)
            return SP_CFI_OK;
    }
    return SP_CFI_NONE;
}

static enum sp_cfi_status scan(const struct sp_cfi_tables *tables, uintptr_t eh_frame, uintptr_t pc, struct sp_fde *fde)
{
    enum sp_cfi_status not_found = SP_CFI_NONE;
    struct sp_entry entry;
    for (uintptr_t at = eh_frame; at != tables->segment_hi; at = entry.end) {
        enum sp_cfi_status status = sp_entry_read(tables, at, &entry);
        if (status == SP_CFI_BAD)
            return SP_CFI_BAD;
        if (status == SP_CFI_NONE)
            break;
        status = sp_fde_read(tables, &entry, fde);
        if (status == SP_CFI_OK && pc >= fde->lo && pc < fde->hi)
            return SP_CFI_OK;
        if (status == SP_CFI_BAD)
            not_found = SP_CFI_BAD; /* it might be the one; a later one that covers the pc decides */
    }
    return not_found;
}

/* Whether a CIE may begin here, as compilers write the first of a section: version 1, augmentation "z...". */
static bool may_be_cie(uintptr_t at, uintptr_t hi)
{
    struct sp_bytes bytes = sp_bytes_make(at, hi);
    uint32_t length = sp_bytes_u32(&bytes), id = sp_bytes_u32(&bytes);
    uint8_t version = sp_bytes_u8(&bytes), augmentation = sp_bytes_u8(&bytes);
    return !bytes.bad && length >= 12 && length <= 256 && length % 4 == 0 && id == 0 && version == 1 &&
           augmentation == 'z';
}

/* Whether what begins here is a row of entries up to a terminator, the first FDE of which is of code in the text. */
static bool is_eh_frame(const struct sp_cfi_tables *tables, uintptr_t at, uintptr_t text_lo, uintptr_t text_hi)
{
    struct sp_fde fde;
    fde.cie.address = 0;
    bool has_function = false;
    struct sp_entry entry;
    for (; at != tables->segment_hi; at = entry.end) {
        enum sp_cfi_status status = sp_entry_read(tables, at, &entry);
        if (status != SP_CFI_OK)
            return status == SP_CFI_NONE && has_function;
        if (has_function)
            continue;
        status = sp_fde_read(tables, &entry, &fde);
        if (status == SP_CFI_BAD)
            return false;
        if (status == SP_CFI_OK && (fde.lo < text_lo || fde.hi > text_hi))
            return false;
        has_function = status == SP_CFI_OK;
    }
    return has_function;
}

uintptr_t sp_cfi_find_eh_frame(uintptr_t lo, uintptr_t hi, uintptr_t text_lo, uintptr_t text_hi)
{
    const struct sp_cfi_tables tables = {.segment_lo = lo, .segment_hi = hi};
    for (uintptr_t at = (lo + 7) & ~UINT64_C(7); at < hi && hi - at >= 16; at += 8)
        if (may_be_cie(at, hi) && is_eh_frame(&tables, at, text_lo, text_hi))
            return at;
    return 0;
}

enum sp_cfi_status sp_cfi_find_row(const struct sp_cfi_tables *tables, uintptr_t pc, struct sp_cfi_row *row)
{
    struct header header = {.table = 0, .eh_frame = tables->eh_frame};
    if (tables->hdr == 0 && tables->eh_frame == 0)
        return SP_CFI_NONE;
    if (tables->hdr != 0 && !read_header(tables, &header))
        return SP_CFI_BAD;
    struct sp_fde fde;
    fde.cie.address = 0;
    enum sp_cfi_status status =
        header.table != 0 ? search_table(tables, &header, pc, &fde) : scan(tables, header.eh_frame, pc, &fde);
    return status == SP_CFI_OK ? sp_program_run(tables, &fde, pc, row) : status;
}
