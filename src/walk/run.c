/* SPDX-License-Identifier: MIT */
#include "walk/run.h"

#include "walk/load.h"
#include "word/word.h"

#include <stddef.h>

#define INLINE inline __attribute__((always_inline))

/* A word shifted right until its rbp slot is lowest is this and the slot, if it is tagged. */
enum { TAG_AT_SLOT = -0x5A40 };
_Static_assert((int64_t)SP_WORD_TAG >> SP_WORD_SLOT_SHIFT == TAG_AT_SLOT, "the word's layout");

/* Keeps the compiler from joining conditions: each is a branch, and well predicted. */
#define APART(value) __asm__("" : "+r"(value))

/*
 * This is the loop that a walk is measured by. Its one dependent chain is the load of a word's length, whose address is
 * made of the one before; all else is read beside it.
 */
static INLINE int put_run(struct sp_run *run, void **pcs, struct sp_frame *frames, int room, struct sp_kept_row *row,
                          unsigned at)
{
    const uintptr_t span = run->coverage.span, last_sp = run->last_sp;
    uintptr_t from_lo = -(run->coverage.lo + 1);
    const uint64_t *const whole = run->coverage.whole;
    uintptr_t *const slots = row != NULL ? row->slot + at : NULL;
    uint64_t *const kept_pcs = row != NULL ? row->pc + at : NULL;
    uint8_t *const hows = row != NULL ? row->how + at : NULL;
    uintptr_t pc = run->pc, above = run->sp + 8;
    uintptr_t length = sp_load_length(run->sp, 0);
    long n = 0;
    APART(from_lo); /* added in one instruction, and pc is kept */
    do {
        uintptr_t offset = pc + from_lo;
        if (offset >= span)
            break;
        if (!(whole[offset >> 15] >> (offset >> 9 & 63) & 1) &&
            !(run->coverage.parts[offset >> 9] >> (offset >> 3 & 63) & 1))
            break;
        int64_t tag_and_slot = (int64_t)sp_load(above - 8) >> SP_WORD_SLOT_SHIFT;
        uint64_t slot = (uint64_t)(tag_and_slot - TAG_AT_SLOT);
        if (slot > SP_WORD_SLOT_MAX)
            break;
        APART(slot);
        if (slot >= length)
            break;
        APART(length);
        uintptr_t next_sp = above + 8 * length;
        if (next_sp > last_sp)
            break;
        if (frames != NULL)
            frames[n] = (struct sp_frame){pc, above - 8, (uint32_t)length * 8 + 8, SP_RULE_WORD, 0};
        else
            pcs[n] = (void *)pc;
        if (row != NULL) {
            slots[n] = above - 16;
            kept_pcs[n] = pc;
            hows[n] = (uint8_t)tag_and_slot;
        }
        pc = sp_load(next_sp - 8);
        length = sp_load_length(above, length);
        above = next_sp + 8;
    } while (++n != room);
    run->pc = pc;
    run->sp = above - 8;
    return (int)n;
}

/* Not in the loop, since few walks ask for it. The words have been read once, and are read with the same care. */
void sp_run_look_back(const struct sp_run *run, uintptr_t sp, int count, uintptr_t *rbp_at, uintptr_t *left_sp)
{
    for (; count > 0 && sp <= run->last_sp; count--) {
        uint64_t word = sp_load(sp);
        uintptr_t pc_at = sp + sp_word_length(word);
        if (sp_word_rbp_slot(word) != 0)
            *rbp_at = pc_at - 8 * (uintptr_t)sp_word_rbp_slot(word);
        *left_sp = sp;
        sp = pc_at + 8;
    }
}

/* Functions of their own, so that the loop has all registers to itself. */
int sp_run_put_pcs(struct sp_run *run, void **pcs, int room)
{
    return put_run(run, pcs, NULL, room, NULL, 0);
}

int sp_run_keep_pcs(struct sp_run *run, void **pcs, int room, struct sp_kept_row *row, unsigned at)
{
    return put_run(run, pcs, NULL, room, row, at);
}

int sp_run_put_frames(struct sp_run *run, struct sp_frame *frames, int room)
{
    return put_run(run, NULL, frames, room, NULL, 0);
}

int sp_run_keep_frames(struct sp_run *run, struct sp_frame *frames, int room, struct sp_kept_row *row, unsigned at)
{
    return put_run(run, NULL, frames, room, row, at);
}
