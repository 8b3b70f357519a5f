/* SPDX-License-Identifier: MIT */
#include "walk/ahead.h"

#include "walk/load.h"

#include <emmintrin.h>

enum {
    BLOCK = 8,
    /*
     * Where stacks meet they are the same from there on, so after a miss it is enough to look now and then: a look at
     * each frame would cost a mispredicted branch at each.
     */
    FIRST_STRIDE = 8,
};

static inline __m128i load_two(const uintptr_t *slots)
{
    __m128i two;
    __asm__("movq %1, %0" : "=x"(two) : "m"(*(const uint64_t *)slots[0]));
    __asm__("movhps %1, %0" : "+x"(two) : "m"(*(const uint64_t *)slots[1]));
    return two;
}

static inline __m128i difference(const uintptr_t *slots, const uint64_t *pcs)
{
    return _mm_xor_si128(load_two(slots), _mm_loadu_si128((const __m128i *)pcs));
}

/* Whether the slots of a block of frames hold their pcs. */
static inline bool is_block_plain(const uintptr_t *slots, const uint64_t *pcs)
{
    __m128i inner = _mm_or_si128(difference(slots, pcs), difference(slots + 2, pcs + 2));
    __m128i outer = _mm_or_si128(difference(slots + 4, pcs + 4), difference(slots + 6, pcs + 6));
    __m128i none = _mm_cmpeq_epi8(_mm_or_si128(inner, outer), _mm_setzero_si128());
    return _mm_movemask_epi8(none) == 0xFFFF;
}

/* Whether frame i is still come to from the one before, whose rule is CFA = rbp + 16, with its rbp saved at *rbp_at. */
static bool is_come_to_by_rbp(const struct sp_kept_row *row, unsigned i, uintptr_t lowest, uintptr_t *rbp_at)
{
    uintptr_t before = sp_kept_sp(row, i - 1), sp = sp_kept_sp(row, i);
    uint32_t below = sp_kept_is_plain(row, i) ? 0 : row->other[i].rbp_below;
    *rbp_at = before - 8 * (uintptr_t)below;
    return below != 0 && below != SP_RBP_AT_START && *rbp_at >= lowest && sp - 8 >= lowest &&
           sp_load(*rbp_at) == sp - 16 && sp_load(sp - 8) == sp_kept_pc(row, i);
}

void sp_ahead_look(struct sp_ahead *ahead, const struct sp_kept_row *row, unsigned from, int room, uintptr_t sp,
                   const struct sp_bounds *bounds)
{
    ahead->sp = ahead->rbp_at = UINTPTR_MAX;
    ahead->stride = FIRST_STRIDE;
    if (sp < bounds->lo) /* as where a stack has overflowed: what can be read begins further out */
        return;
    const int end = (int)row->end;
    int first = (int)from;
    while (first != end && sp_kept_sp(row, (unsigned)first) < sp)
        first++;
    if (first == end)
        return;
    int to = end - 1 - first <= room ? end - 1 : first + room;
    const int lowest = sp_kept_sp(row, (unsigned)first) >= sp + 8 ? first : first + 1;
    /* The slots ascend: where the last can be read, all can that are not below sp. The walk itself is not there yet. */
    if (to >= lowest) {
        struct sp_bounds further = *bounds;
        if (!sp_bounds_hold(&further, sp_kept_sp(row, (unsigned)to) - 8))
            return;
    }

    int i = to;
    for (;;) {
        while (i >= lowest + BLOCK - 1 && is_block_plain(&row->slot[i - BLOCK + 1], &row->pc[i - BLOCK + 1]))
            i -= BLOCK;
        while (i >= lowest && sp_load(row->slot[i]) == row->pc[i])
            i--;
        uintptr_t rbp_at;
        if (i < lowest || i == first || !is_come_to_by_rbp(row, (unsigned)i, sp, &rbp_at))
            break;
        if (rbp_at < ahead->rbp_at)
            ahead->rbp_at = rbp_at;
        i--;
    }
    /* What is shown are the frames after i. i itself may be come to, unless its slot has another pc now. */
    if (i < first || (i >= lowest && sp_kept_is_plain(row, (unsigned)i)))
        i++;
    if (i > to)
        return;
    ahead->next = (unsigned)i;
    ahead->to = (unsigned)to;
    ahead->sp = sp_kept_sp(row, ahead->next);
}

bool sp_ahead_is_met(struct sp_ahead *ahead, const struct sp_kept_row *row, uintptr_t pc, uintptr_t sp,
                     bool interrupted)
{
    unsigned i = ahead->next;
    while (i != ahead->to && sp_kept_sp(row, i) < sp)
        i++;
    ahead->next = i;
    if (sp_kept_sp(row, i) == sp && sp_kept_pc(row, i) == pc &&
        (sp_how_flags(row->how[i]) & SP_KEPT_INTERRUPTED) == interrupted)
        return true;
    if (i == ahead->to) {
        ahead->sp = UINTPTR_MAX;
        return false;
    }
    ahead->next = ahead->to - i > ahead->stride ? i + ahead->stride : ahead->to;
    ahead->stride *= 4;
    ahead->sp = sp_kept_sp(row, ahead->next);
    return false;
}

void sp_ahead_keep_by_rbp(struct sp_ahead *ahead, const struct sp_kept_row *row, uintptr_t rbp_at)
{
    uintptr_t sp = sp_kept_sp(row, ahead->next);
    for (unsigned i = ahead->next + 1; i <= ahead->to; i++) {
        if (sp_kept_is_plain(row, i))
            continue;
        uintptr_t at = sp_kept_sp(row, i - 1) - 8 * (uintptr_t)row->other[i].rbp_below;
        /* Further out, rbp is not saved further in. */
        if (at >= sp)
            return;
        if (at != rbp_at) {
            ahead->to = i - 1;
            return;
        }
    }
}

int sp_ahead_repeat(const struct sp_kept_row *row, bool interrupted, uintptr_t rbp, void **pcs, int max,
                    const struct sp_bounds *bounds)
{
    const unsigned first = row->first;
    const int count = (int)(row->end - first);
    if (row->is_interrupted != interrupted || !row->is_whole || count <= BLOCK || count > max)
        return 0;
    const uintptr_t *slots = row->slot + first;
    const uint64_t *kept = row->pc + first;
    /* The slots ascend from sp on, but for sp_no_slot's address, which lies on no stack. */
    if (row->start_sp < bounds->lo || slots[count - 1] < bounds->lo || slots[count - 1] > bounds->last)
        return 0;
    int i = 1;
    pcs[0] = (void *)row->start_pc;
    if (!sp_kept_is_plain(row, first + 1)) {
        uintptr_t sp = row->other[first + 1].sp, pc = row->other[first + 1].pc;
        if (row->other[first + 1].rbp_below != SP_RBP_AT_START || rbp != sp - 16 || sp_load(sp - 8) != pc)
            return 0;
        pcs[1] = (void *)pc;
        i = 2;
    }
    for (;; i += BLOCK) {
        /* The last block overlaps the one before it. */
        if (i > count - BLOCK)
            i = count - BLOCK;
        __m128i changed = _mm_setzero_si128();
#pragma GCC unroll 4
        for (int k = 0; k < BLOCK; k += 2) {
            __m128i two = load_two(slots + i + k);
            _mm_storeu_si128((__m128i *)(pcs + i + k), two);
            changed = _mm_or_si128(changed, _mm_xor_si128(two, _mm_loadu_si128((const __m128i *)(kept + i + k))));
        }
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(changed, _mm_setzero_si128())) != 0xFFFF)
            return 0;
        if (i == count - BLOCK)
            return count;
    }
}
