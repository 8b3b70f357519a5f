/* SPDX-License-Identifier: MIT */
#include "walk/modules.h"

#include "module/kernel.h"
#include "walk/rules.h"

#include <stddef.h>

/*
 * One slot a module. `sequence` is even where the slot can be read, odd while it is written, 0 while it is empty. A
 * reader copies and then looks whether the sequence is what it was. A writer claims the slot by making it odd; a
 * handler that interrupts it finds the slot odd and does without. The bits of a replaced module's coverage are never
 * unmapped, so a reader that lost the race reads stale bits, not missing ones, and then drops what it read.
 */
struct slot {
    uint32_t sequence;
    size_t bits_room; /* 64-bit words that this slot's bits have room for */
    uint64_t *bits;
    struct sp_known_module known;
};

enum {
    SLOTS = 512,
    FIRST_BITS = 256, /* 64-bit words */
};

/* In this order, as a first walk needs the first few hundred words. */
static struct {
    uint32_t slots_used;
    bool first_bits_are_taken;
    /* The bits of the first module that has any, if it is permanent and they suffice, as those of most programs do. */
    uint64_t first_bits[FIRST_BITS];
    struct slot slots[SLOTS];
} all;

struct sp_coverage sp_program_coverage __attribute__((aligned(64)));
static uint32_t program_is_claimed; /* someone writes its coverage, or has */

uint32_t sp_modules_generation;

static uint64_t hash_bytes(uint64_t hash, uintptr_t lo, uintptr_t hi)
{
    if (hi - lo > 64)
        hi = lo + 64;
    for (; hi - lo >= 4; lo += 4)
        hash = (hash ^ *(const uint32_t *)lo) * UINT64_C(0x100000001B3);
    return hash;
}

/* Two modules at the same addresses differ in their build-id (a note) or in the head of their table of functions. */
static uint64_t fingerprint(const struct sp_known_module *known)
{
    const struct sp_module *module = &known->module;
    uint64_t hash = (uintptr_t)module->loader_entry ^ module->hi;
    if (known->tables.hdr % 4 == 0)
        hash = hash_bytes(hash, known->tables.hdr, known->tables.hdr_end);
    for (unsigned i = 0; i < module->phnum; i++) {
        uintptr_t lo, hi, at = module->bias + module->phdr[i].p_vaddr;
        if (module->phdr[i].p_type == PT_NOTE && at % 4 == 0 && sp_module_segment(module, at, PF_R, &lo, &hi) &&
            module->phdr[i].p_memsz <= hi - at)
            hash = hash_bytes(hash, at, at + module->phdr[i].p_memsz);
    }
    return hash;
}

/* In a module without PT_GNU_EH_FRAME. */
static void find_eh_frame(uintptr_t address, struct sp_known_module *known)
{
    const struct sp_module *module = &known->module;
    uintptr_t lo, hi, text_lo, text_hi;
    if (!sp_module_segment(module, address, PF_R | PF_X, &text_lo, &text_hi))
        return;
    for (unsigned i = 0; i < module->phnum && known->tables.eh_frame == 0; i++) {
        const Elf64_Phdr *p = &module->phdr[i];
        if (p->p_type != PT_LOAD || (p->p_flags & PF_W) != 0 ||
            !sp_module_segment(module, module->bias + p->p_vaddr, PF_R, &lo, &hi))
            continue;
        known->tables.eh_frame = sp_cfi_find_eh_frame(lo, hi, text_lo, text_hi);
        known->tables.segment_lo = lo;
        known->tables.segment_hi = hi;
    }
}

/* Everything but the coverage. */
static bool describe(uintptr_t address, struct sp_known_module *known)
{
    struct sp_module *module = &known->module;
    if (!sp_module_find(address, module))
        return false;
    if (module->phdr == NULL)
        sp_module_read_headers(module);
    known->coverage = (struct sp_coverage){.span = 0};
    known->tables = (struct sp_cfi_tables){0};
    for (unsigned i = 0; i < module->phnum; i++) {
        const Elf64_Phdr *p = &module->phdr[i];
        uintptr_t lo, hi, hdr = module->bias + p->p_vaddr;
        if (p->p_type != PT_GNU_EH_FRAME || !sp_module_segment(module, hdr, PF_R, &lo, &hi))
            continue;
        known->tables.hdr = hdr;
        known->tables.hdr_end = p->p_memsz < hi - hdr ? hdr + p->p_memsz : hi;
        known->tables.segment_lo = lo;
        known->tables.segment_hi = hi;
    }
    known->is_volatile = !sp_module_is_permanent(module);
    known->fingerprint = known->is_volatile ? fingerprint(known) : 0;
    /* Done once: what may be unloaded is described anew in each walk. */
    if (known->tables.hdr == 0 && !known->is_volatile)
        find_eh_frame(address, known);
    return true;
}

static void build_coverage(struct slot *slot, struct sp_known_module *known)
{
    uintptr_t lo, span;
    if (!sp_coverage_extents(&known->module, &lo, &span))
        return;
    if (!known->is_volatile && !__atomic_exchange_n(&all.first_bits_are_taken, true, __ATOMIC_RELAXED)) {
        known->coverage = sp_coverage_make(&known->module, lo, span, all.first_bits, FIRST_BITS);
        if (known->coverage.span != 0)
            return;
    }
    size_t words = sp_coverage_words(span);
    if (words > slot->bits_room) {
        /* The old bits stay mapped for readers that may still hold them; room doubles, so that this ends. */
        size_t room = words * (slot->bits_room != 0 ? 2 : 1);
        room = (room + 511) & ~(size_t)511;
        uint64_t *bits = sp_map_pages(room * sizeof *bits);
        if (bits == NULL)
            return;
        slot->bits = bits;
        slot->bits_room = room;
    } else {
        for (size_t i = 0; i < words; i++)
            slot->bits[i] = 0;
    }
    known->coverage = sp_coverage_make(&known->module, lo, span, slot->bits, slot->bits_room);
}

static void publish_program_coverage(const struct sp_known_module *known)
{
    if (known->is_volatile || known->coverage.span == 0 ||
        __atomic_exchange_n(&program_is_claimed, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    sp_program_coverage.lo = known->coverage.lo;
    sp_program_coverage.whole = known->coverage.whole;
    sp_program_coverage.parts = known->coverage.parts;
    __atomic_store_n(&sp_program_coverage.span, known->coverage.span, __ATOMIC_RELEASE);
}

/* Records a module in a slot whose sequence was `sequence`. Where another has claimed it meanwhile, does without. */
static void record(struct slot *slot, uint32_t sequence, struct sp_known_module *known)
{
    if (!__atomic_compare_exchange_n(&slot->sequence, &sequence, sequence + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    build_coverage(slot, known);
    slot->known = *known;
    __atomic_store_n(&slot->sequence, sequence + 2, __ATOMIC_RELEASE);
    publish_program_coverage(known);
}

static bool read_slot(struct slot *slot, uintptr_t address, struct sp_known_module *known, uint32_t *sequence)
{
    *sequence = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
    if (*sequence == 0 || *sequence % 2 != 0)
        return false;
    if (address < slot->known.module.lo || address >= slot->known.module.hi)
        return false;
    *known = slot->known;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) == *sequence;
}

static void void_what_was_remembered(void)
{
    __atomic_add_fetch(&sp_modules_generation, 1, __ATOMIC_ACQ_REL);
    sp_rules_forget();
}

bool sp_known_get(uintptr_t address, struct sp_known_module *known)
{
    /* It can be more than there are: threads, and handlers, that took the last one at once have counted on. */
    uint32_t used = __atomic_load_n(&all.slots_used, __ATOMIC_ACQUIRE);
    used = used < SLOTS ? used : SLOTS;
    struct sp_known_module now;
    for (uint32_t i = 0; i < used; i++) {
        uint32_t sequence;
        if (!read_slot(&all.slots[i], address, known, &sequence))
            continue;
        if (!known->is_volatile)
            return true;
        bool is_loaded = describe(address, &now);
        if (is_loaded && now.module.lo == known->module.lo && now.fingerprint == known->fingerprint)
            return true;
        void_what_was_remembered();
        if (!is_loaded)
            return false;
        *known = now;
        record(&all.slots[i], sequence, known);
        return true;
    }
    if (!describe(address, known))
        return false;
    /* A slot is taken for good: two threads that meet a new module at once may take two, which does no harm. */
    if (used < SLOTS) {
        used = __atomic_fetch_add(&all.slots_used, 1, __ATOMIC_ACQ_REL);
        if (used < SLOTS)
            record(&all.slots[used], 0, known);
    }
    return true;
}
