/* SPDX-License-Identifier: MIT */
#include "walk/ahead.h"

bool sp_ahead_is_come_to_by_rbp(const struct sp_kept_row *row, int i, uintptr_t lowest, uintptr_t *rbp_at)
{
    uintptr_t before = sp_kept_sp(row, (unsigned)i - 1), sp = sp_kept_sp(row, (unsigned)i);
    uint32_t below = sp_kept_is_plain(row, (unsigned)i) ? 0 : row->other[i].rbp_below;
    *rbp_at = before - 8 * (uintptr_t)below;
    return below != 0 && below != SP_RBP_AT_START && *rbp_at >= lowest && sp - 8 >= lowest &&
           sp_load(*rbp_at) == sp - 16 && sp_load(sp - 8) == sp_kept_pc(row, (unsigned)i);
}

void sp_ahead_look(struct sp_ahead *ahead, const struct sp_kept_row *row, unsigned from, int room, uintptr_t sp,
                   const struct sp_bounds *bounds)
{
    ahead->sp = ahead->rbp_at = UINTPTR_MAX;
    ahead->stride = SP_AHEAD_FIRST_STRIDE;
    const int end = (int)row->end;
    int first = (int)from, to = end - 1;
    if (sp < bounds->lo) /* as where a stack has overflowed: what can be read begins further out */
        return;
    if (to - first > room) {
        while (first != end && sp_kept_sp(row, (unsigned)first) < sp)
            first++;
        to = to - first <= room ? to : first + room;
    }
    /* The walk itself is not there yet. */
    struct sp_bounds further = *bounds;
    uintptr_t outermost = sp_kept_sp(row, (unsigned)to);
    if (first > to || outermost < sp || (outermost >= sp + 8 && !sp_bounds_hold(&further, outermost - 8)))
        return;
    int next = sp_ahead_find(row, first, to, sp, &ahead->rbp_at);
    if (next > to)
        return;
    ahead->next = (unsigned)next;
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

__attribute__((hot)) int sp_ahead_repeat(const struct sp_memory *memory, bool interrupted, uintptr_t rbp, void **pcs,
                                         int max, uintptr_t last)
{
    const struct sp_kept_row *row = memory->row;
    const unsigned first = row->first;
    const int count = (int)(row->end - first);
    if (memory->is_interrupted != interrupted || !memory->is_whole || count <= SP_AHEAD_BLOCK || count > max)
        return 0;
    const uintptr_t *slots = row->slot + first;
    const uint64_t *kept = row->pc + first;
    /* The slots ascend from sp on, but for sp_no_slot's address, which lies on no stack. */
    if (slots[count - 1] < memory->start_sp || slots[count - 1] > last)
        return 0;
    int i = 1;
    pcs[0] = (void *)memory->start_pc;
    if (!sp_kept_is_plain(row, first + 1)) {
        uintptr_t sp = row->other[first + 1].sp, pc = row->other[first + 1].pc;
        if (row->other[first + 1].rbp_below != SP_RBP_AT_START || rbp != sp - 16 || sp_load(sp - 8) != pc)
            return 0;
        pcs[1] = (void *)pc;
        i = 2;
    }
    for (;; i += SP_AHEAD_BLOCK) {
        /* The last block overlaps the one before it. */
        if (i > count - SP_AHEAD_BLOCK)
            i = count - SP_AHEAD_BLOCK;
        __m128i changed = _mm_setzero_si128();
#pragma GCC unroll 4
        for (int k = 0; k < SP_AHEAD_BLOCK; k += 2) {
            __m128i two = sp_load_two(slots + i + k);
            _mm_storeu_si128((__m128i *)(pcs + i + k), two);
            changed = _mm_or_si128(changed, _mm_xor_si128(two, _mm_loadu_si128((const __m128i *)(kept + i + k))));
        }
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(changed, _mm_setzero_si128())) != 0xFFFF)
            return 0;
        if (i == count - SP_AHEAD_BLOCK)
            return count;
    }
}
