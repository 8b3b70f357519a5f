/* SPDX-License-Identifier: MIT */
#include "word/coverage.h"

#include "word/record.h"

#include <elf.h>

/* What is done with the records of one note. */
typedef void records_visitor(void *data, const struct sp_module *module, const struct sp_record *records, size_t count);

static bool is_frames_note(const Elf64_Nhdr *note, const char *name)
{
    return note->n_type == SP_NOTE_FRAMES && note->n_namesz == sizeof SP_NOTE_OWNER && name[0] == 's' &&
           name[1] == 'p' && name[2] == 'w' && name[3] == 'a' && name[4] == 'l' && name[5] == 'k' && name[6] == '\0';
}

static void visit_notes(const struct sp_module *module, records_visitor *visit, void *data)
{
    for (unsigned i = 0; i < module->phnum; i++) {
        const Elf64_Phdr *p = &module->phdr[i];
        uintptr_t lo, hi, at = module->bias + p->p_vaddr;
        if (p->p_type != PT_NOTE || at % 4 != 0 || !sp_module_segment(module, at, PF_R, &lo, &hi) ||
            p->p_memsz > hi - at)
            continue;
        uintptr_t pad = p->p_align == 8 ? 7 : 3;
        uintptr_t end = at + p->p_memsz;
        while (end - at >= sizeof(Elf64_Nhdr)) {
            const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;
            uintptr_t name = at + sizeof *note;
            if (note->n_namesz > end - name)
                break;
            uintptr_t desc = at + ((sizeof *note + note->n_namesz + pad) & ~pad);
            if (desc > end || note->n_descsz > end - desc)
                break;
            if (is_frames_note(note, (const char *)name))
                visit(data, module, (const struct sp_record *)desc, note->n_descsz / sizeof(struct sp_record));
            uintptr_t next = desc + ((note->n_descsz + pad) & ~pad);
            if (next > end)
                break;
            at = next;
        }
    }
}

static void find_any(void *data, const struct sp_module *module, const struct sp_record *records, size_t count)
{
    (void)module;
    (void)records;
    *(bool *)data = *(bool *)data || count != 0;
}

bool sp_coverage_extents(const struct sp_module *module, uintptr_t *lo, uintptr_t *span)
{
    bool has_records = false;
    visit_notes(module, find_any, &has_records);
    uintptr_t first = UINTPTR_MAX, end = 0;
    for (unsigned i = 0; has_records && i < module->phnum; i++) {
        const Elf64_Phdr *p = &module->phdr[i];
        uintptr_t segment_lo, segment_hi;
        if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0 ||
            !sp_module_segment(module, module->bias + p->p_vaddr, PF_X, &segment_lo, &segment_hi))
            continue;
        first = segment_lo < first ? segment_lo : first;
        end = segment_hi > end ? segment_hi : end;
    }
    if (first >= end)
        return false;
    *lo = first & ~UINT64_C(7);
    *span = ((end + 7) & ~UINT64_C(7)) - *lo;
    return true;
}

enum {
    GRANULE = 512,
    BITS = GRANULE / 8, /* of a granule in `parts` */
    GROUP = 64,         /* granules */
    RANKS = SP_COVERAGE_RANKS,
};

static size_t granules_of(uintptr_t span)
{
    return (span + GRANULE - 1) / GRANULE;
}

static size_t groups_of(uintptr_t span)
{
    return (granules_of(span) + GROUP - 1) / GROUP;
}

/* Whole cache lines. */
static size_t words_of_whole(uintptr_t span)
{
    return (groups_of(span) + 7) / 8 * 8;
}

/* Of `parts`: the array of blocks, and the block without any bits. */
static size_t words_of_empty_parts(uintptr_t span)
{
    return (groups_of(span) + 1) / 2 + RANKS + 1;
}

static size_t words_of_parts(uintptr_t span)
{
    return words_of_empty_parts(span) + groups_of(span) * (RANKS + 1 + GROUP);
}

size_t sp_coverage_words(uintptr_t span)
{
    return words_of_whole(span) + words_of_parts(span);
}

bool sp_covered_unless_replaced(const struct sp_coverage *coverage, uintptr_t address)
{
    uintptr_t offset = address - coverage->lo, granule = offset / GRANULE;
    if (offset >= coverage->span)
        return false;
    if (coverage->whole[granule / GROUP] >> granule % GROUP & 1)
        return true;
    /* No block is read, and no granule's word, that lies beyond all that `parts` can hold. */
    const size_t end = words_of_parts(coverage->span);
    size_t block = ((const uint32_t *)coverage->parts)[granule / GROUP];
    if (block > end - RANKS)
        return false;
    size_t place = block + RANKS + ((const uint8_t *)(coverage->parts + block))[granule % GROUP];
    return place < end && (coverage->parts[place] >> (offset / 8 % BITS) & 1) != 0;
}

struct filling {
    uintptr_t lo, span;
    uint64_t *whole, *parts;
    uint32_t
        *blocks; /* where `parts` begin: of each group its block; before there are blocks, how many words it needs */
    bool has_blocks;
    /* The granule that was partly covered last, and by which bits: another run may cover the rest. */
    size_t granule;
    uint64_t bits;
};

static void mark_whole(const struct filling *filling, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (i % 64 == 0 && end - i >= 64) {
            filling->whole[i / 64] = ~UINT64_C(0);
            i += 63;
        } else {
            filling->whole[i / 64] |= UINT64_C(1) << i % 64;
        }
    }
}

static void mark_part(struct filling *filling, size_t i, uint64_t bits)
{
    size_t group = i / GROUP;
    if (filling->has_blocks) {
        if (filling->whole[group] >> i % GROUP & 1)
            return;
        uint64_t *block = filling->parts + filling->blocks[group];
        uint8_t *rank = (uint8_t *)block + i % GROUP;
        if (*rank == 0)
            *rank = (uint8_t)++block[RANKS]; /* the 0th is how many there are, so far */
        block[RANKS + *rank] |= bits;
        return;
    }
    bool is_again = filling->granule == i;
    if (is_again)
        bits |= filling->bits;
    filling->granule = i;
    filling->bits = bits;
    if (bits == ~UINT64_C(0))
        mark_whole(filling, i, i + 1);
    else if (!is_again && filling->blocks[group] < GROUP)
        filling->blocks[group]++;
}

/* What is not all within the module's text is none of its own. */
static void mark(struct filling *filling, uintptr_t lo, uintptr_t hi)
{
    if (lo >= hi || lo < filling->lo || hi - filling->lo > filling->span)
        return;
    size_t first = (lo - filling->lo + 7) / 8, end = (hi - filling->lo + 7) / 8;
    if (first >= end)
        return;
    uint64_t head = ~UINT64_C(0) << (first % BITS), tail = ~UINT64_C(0) >> (BITS - 1 - (end - 1) % BITS);
    size_t i = first / BITS, last = (end - 1) / BITS;
    if (i == last) {
        mark_part(filling, i, head & tail);
        return;
    }
    mark_part(filling, i, head);
    if (!filling->has_blocks)
        mark_whole(filling, i + 1, last);
    mark_part(filling, last, tail);
}

static void mark_records(void *data, const struct sp_module *module, const struct sp_record *records, size_t count)
{
    (void)module;
    struct filling *filling = data;
    uintptr_t run_lo = UINTPTR_MAX, run_hi = UINTPTR_MAX;
    for (size_t i = 0; i < count; i++) {
        uintptr_t lo = (uintptr_t)&records[i].start + (intptr_t)records[i].start, size = records[i].size;
        /* Between records that follow each other nothing calls, or there were a break. */
        if (size != 0 && lo >= run_hi) {
            run_hi = lo + size;
            continue;
        }
        mark(filling, run_lo, run_hi);
        run_lo = size != 0 ? lo : UINTPTR_MAX;
        run_hi = size != 0 ? lo + size : UINTPTR_MAX;
    }
    mark(filling, run_lo, run_hi);
}

/* Gives those groups blocks that need one. Returns the words that `parts` take. */
static size_t give_blocks(const struct filling *filling)
{
    size_t end = words_of_empty_parts(filling->span);
    const uint32_t empty = (uint32_t)end - RANKS - 1;
    for (size_t group = 0; group < groups_of(filling->span); group++) {
        uint32_t needed = filling->blocks[group];
        filling->blocks[group] = needed != 0 ? (uint32_t)end : empty;
        if (needed != 0)
            end += RANKS + 1 + needed;
    }
    return end;
}

struct sp_coverage sp_coverage_make(const struct sp_module *module, uintptr_t lo, uintptr_t span, uint64_t *words,
                                    size_t room)
{
    const struct sp_coverage none = {.span = 0};
    size_t whole = words_of_whole(span);
    if (whole + words_of_empty_parts(span) > room || words_of_parts(span) > UINT32_MAX)
        return none;
    uint64_t *parts = words + whole;
    struct filling filling = {lo, span, words, parts, (uint32_t *)parts, false, SIZE_MAX, 0};
    visit_notes(module, mark_records, &filling);
    if (whole + give_blocks(&filling) > room)
        return none;
    filling.has_blocks = true;
    visit_notes(module, mark_records, &filling);
    for (size_t group = 0; group < groups_of(span); group++)
        parts[filling.blocks[group] + RANKS] = 0;
    return (struct sp_coverage){lo, span, words, parts};
}
