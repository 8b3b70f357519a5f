/* SPDX-License-Identifier: MIT */
#include "word/coverage.h"

#include "word/record.h"

#include <elf.h>

/* What is done with one record: the part's extents, [lo, hi). */
typedef void record_visitor(void *data, uintptr_t lo, uintptr_t hi);

static bool is_frames_note(const Elf64_Nhdr *note, const char *name)
{
    return note->n_type == SP_NOTE_FRAMES && note->n_namesz == sizeof SP_NOTE_OWNER && name[0] == 's' &&
           name[1] == 'p' && name[2] == 'w' && name[3] == 'a' && name[4] == 'l' && name[5] == 'k' && name[6] == '\0';
}

static inline __attribute__((always_inline)) void visit_records(const struct sp_module *module, uintptr_t desc,
                                                                size_t size, record_visitor *visit, void *data)
{
    const struct sp_record *record = (const struct sp_record *)desc;
    for (size_t i = 0; i < size / sizeof *record; i++) {
        uintptr_t lo = (uintptr_t)&record[i].start + (intptr_t)record[i].start;
        /* A record that points outside its module is none. */
        if (lo < module->lo || lo >= module->hi || record[i].size > module->hi - lo)
            continue;
        visit(data, lo, lo + record[i].size);
    }
}

static inline __attribute__((always_inline)) void visit_notes(const struct sp_module *module, record_visitor *visit,
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
                visit_records(module, desc, note->n_descsz, visit, data);
            uintptr_t next = desc + ((note->n_descsz + pad) & ~pad);
            if (next > end)
                break;
            at = next;
        }
    }
}

struct extents {
    uintptr_t lo, hi;
};

static void widen(void *data, uintptr_t lo, uintptr_t hi)
{
    struct extents *extents = data;
    extents->lo = lo < extents->lo ? lo : extents->lo;
    extents->hi = hi > extents->hi ? hi : extents->hi;
}

bool sp_coverage_extents(const struct sp_module *module, uintptr_t *lo, uintptr_t *span)
{
    struct extents extents = {UINTPTR_MAX, 0};
    visit_notes(module, widen, &extents);
    if (extents.lo >= extents.hi)
        return false;
    *lo = extents.lo & ~UINT64_C(7);
    *span = ((extents.hi + 7) & ~UINT64_C(7)) - *lo;
    return true;
}

struct filling {
    uintptr_t lo, span;
    uint64_t *bits;
};

static void mark(void *data, uintptr_t lo, uintptr_t hi)
{
    const struct filling *filling = data;
    /* The records are read a second time: believe them only as far as the bits reach. */
    if (lo < filling->lo || hi - filling->lo > filling->span)
        return;
    size_t first = (lo - filling->lo + 7) / 8, end = (hi - filling->lo + 7) / 8;
    if (first >= end)
        return;
    uint64_t head = ~UINT64_C(0) << (first % 64), tail = ~UINT64_C(0) >> (63 - (end - 1) % 64);
    size_t i = first / 64, last = (end - 1) / 64;
    if (i == last) {
        filling->bits[i] |= head & tail;
        return;
    }
    filling->bits[i] |= head;
    while (++i < last)
        filling->bits[i] = ~UINT64_C(0);
    filling->bits[last] |= tail;
}

void sp_coverage_fill(const struct sp_module *module, uintptr_t lo, uintptr_t span, uint64_t *bits)
{
    struct filling filling = {lo, span, bits};
    visit_notes(module, mark, &filling);
}
