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

static inline __attribute__((always_inline)) void visit_notes(const struct sp_module *module, records_visitor *visit,
                                                              void *data)
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

enum { PART = 512 / 8 }; /* bits for what one bit of `whole` stands for: those of a word of `parts` */

static size_t words_of_parts(uintptr_t span)
{
    return (span + 511) / 512;
}

/* A multiple of a cache line's. */
static size_t words_of_whole(uintptr_t span)
{
    return (span + (1 << 18) - 1) / (1 << 18) * 8;
}

size_t sp_coverage_words(uintptr_t span)
{
    return words_of_whole(span) + words_of_parts(span);
}

struct filling {
    uintptr_t lo, span;
    uint64_t *whole, *parts;
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

static void mark_part(const struct filling *filling, size_t i, uint64_t bits)
{
    if (bits != ~UINT64_C(0)) {
        filling->parts[i] |= bits;
        bits = filling->parts[i];
    }
    if (bits == ~UINT64_C(0))
        mark_whole(filling, i, i + 1);
}

static void mark(const struct filling *filling, uintptr_t lo, uintptr_t hi)
{
    if (lo < filling->lo || hi - filling->lo > filling->span)
        return;
    size_t first = (lo - filling->lo + 7) / 8, end = (hi - filling->lo + 7) / 8;
    if (first >= end)
        return;
    uint64_t head = ~UINT64_C(0) << (first % PART), tail = ~UINT64_C(0) >> (PART - 1 - (end - 1) % PART);
    size_t i = first / PART, last = (end - 1) / PART;
    if (i == last) {
        mark_part(filling, i, head & tail);
        return;
    }
    mark_part(filling, i, head);
    mark_whole(filling, i + 1, last);
    mark_part(filling, last, tail);
}

static void mark_records(void *data, const struct sp_module *module, const struct sp_record *records, size_t count)
{
    const struct filling *filling = data;
    uintptr_t run_lo = 0, run_hi = 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t lo = (uintptr_t)&records[i].start + (intptr_t)records[i].start, size = records[i].size;
        /* A record that points outside its module is none. */
        if (lo < module->lo || lo >= module->hi || size > module->hi - lo)
            size = 0;
        /* Between records that follow each other nothing calls, or there were a break. */
        if (size == 0 || run_lo == run_hi || lo < run_hi) {
            mark(filling, run_lo, run_hi);
            run_lo = lo;
        }
        run_hi = lo + size;
    }
    mark(filling, run_lo, run_hi);
}

struct sp_coverage sp_coverage_make(const struct sp_module *module, uintptr_t lo, uintptr_t span, uint64_t *words)
{
    struct filling filling = {lo, span, words, words + words_of_whole(span)};
    visit_notes(module, mark_records, &filling);
    return (struct sp_coverage){lo, span, filling.whole, filling.parts};
}
