/* SPDX-License-Identifier: MIT */
#include "imports/sites.h"

#include <emmintrin.h>
#include <string.h>

static int64_t slot_at(const uintptr_t *slots, size_t count, uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (slots[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && slots[low] == address ? (int64_t)low : -1;
}

/* What the instruction with this operand does with the slot, from the opcode and ModRM byte before it. */
static struct site classify(unsigned char *operand, uint32_t slot)
{
    struct site site = {operand, slot, SITE_OTHER, 0};
    unsigned opcode = operand[-2], reg = operand[-1] >> 3 & 7;
    if (opcode == 0xff && (reg == 2 || reg == 4)) {
        site.kind = SITE_CALL;
    } else if (opcode == 0x8b && (operand[-3] & 0xf8) == 0x48) {
        site.kind = SITE_LOAD;
        site.register_number = (uint8_t)(reg | (operand[-3] & 4 ? 8 : 0));
    }
    return site;
}

struct search {
    const uintptr_t *slots;
    size_t count;
    uintptr_t first, span; /* of the slots */
    void (*found)(const struct site *site, void *argument);
    void *argument;
};

/* The operand gives an address near the slots: looks whether it is one's. */
static void examine(const struct search *search, unsigned char *operand, uintptr_t address)
{
    int64_t slot = slot_at(search->slots, search->count, address);
    if (slot >= 0) {
        struct site site = classify(operand, (uint32_t)slot);
        search->found(&site, search->argument);
        return;
    }
    bool immediate8 = operand[-2] == 0x83 || operand[-2] == 0x80 || operand[-2] == 0xc6 || operand[-2] == 0x6b;
    bool immediate32 = operand[-2] == 0x81 || operand[-2] == 0xc7 || operand[-2] == 0x69 || operand[-2] == 0xf7;
    slot = immediate8    ? slot_at(search->slots, search->count, address + 1)
           : immediate32 ? slot_at(search->slots, search->count, address + 4)
                         : -1;
    if (slot >= 0) {
        bool compares_with_0 = operand[-2] == 0x83 && (operand[-1] >> 3 & 7) == 7 && operand[4] == 0;
        struct site site = {operand, (uint32_t)slot, compares_with_0 ? SITE_TEST : SITE_OTHER, 0};
        search->found(&site, search->argument);
    }
}

/* `operand` is what follows a ModRM byte that says "RIP-relative". */
static inline void try_operand(const struct search *search, unsigned char *operand)
{
    int32_t displacement;
    memcpy(&displacement, operand, sizeof displacement);
    uintptr_t address = (uintptr_t)operand + 4 + (uintptr_t)(intptr_t)displacement;
    /* An immediate operand of 1 or 4 bytes may follow, from whose end the displacement then counts. */
    if (__builtin_expect(address + 4 - search->first <= search->span + 4, 0))
        examine(search, operand, address);
}

/* Bytes that may be a ModRM byte with mod 00 and rm 101 are found 16 at a time. */
static void search_code(const struct search *search, unsigned char *code, size_t size)
{
    const __m128i mask = _mm_set1_epi8((char)0xc7), wanted = _mm_set1_epi8(0x05);
    if (size < 32)
        return;
    size_t at = 2;
    for (; at + 21 <= size; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(code + at));
        unsigned hits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(bytes, mask), wanted));
        for (; hits; hits &= hits - 1)
            try_operand(search, code + at + (unsigned)__builtin_ctz(hits) + 1);
    }
    for (; at + 6 <= size; at++)
        if ((code[at] & 0xc7) == 0x05)
            try_operand(search, code + at + 1);
}

void imports_find_sites(const struct object *object, const uintptr_t *slots, size_t count,
                        void (*found)(const struct site *site, void *argument), void *argument)
{
    struct search search = {slots, count,   count ? slots[0] : 0, count ? slots[count - 1] - slots[0] : 0,
                            found, argument};
    for (size_t i = 0; count && i < object->segment_count; i++) {
        const Elf64_Phdr *segment = &object->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && segment->p_flags & PF_R)
            search_code(&search, (unsigned char *)object->bias + segment->p_vaddr, segment->p_filesz);
    }
}
