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
 * This is the loop that a walk is measured by. Its one dependent chain is the load of the length, scaled and added to
 * SP; all else is read beside it.
 */
static INLINE int put_run(struct sp_run *run, void **pcs, struct sp_frame *frames, int room, struct sp_kept_row *row,
                          unsigned at)
{
    const uintptr_t lo = run->coverage.lo + 1, span = run->coverage.span, last_pc_at = run->last_pc_at;
    const uint64_t *const bits = run->coverage.bits;
    uintptr_t *const slots = row != NULL ? row->slot + at : NULL;
    uint64_t *const kept_pcs = row != NULL ? row->pc + at : NULL;
    uint8_t *const hows = row != NULL ? row->how + at : NULL;
    uintptr_t pc = run->pc, pc_at = run->sp - 8, saves_rbp = 0, before = 0;
    long n = 0;
    do {
        uintptr_t offset = pc - lo;
        if (offset >= span || !(bits[offset >> 9] >> (offset >> 3 & 63) & 1))
            break;
        uintptr_t sp = pc_at + 8, next, length = sp_load_length(pc_at, sp, &next);
        int64_t tag_and_slot = (int64_t)sp_load(sp) >> SP_WORD_SLOT_SHIFT;
        uint64_t slot = (uint64_t)(tag_and_slot - TAG_AT_SLOT);
        if (slot > SP_WORD_SLOT_MAX)
            break;
        APART(slot);
        if (slot >= length)
            break;
        APART(length);
        if (next > last_pc_at)
            break;
        if (frames != NULL)
            frames[n] = (struct sp_frame){pc, sp, (uint32_t)length * 8 + 8, SP_RULE_WORD, 0};
        else
            pcs[n] = (void *)pc;
        if (row != NULL) {
            slots[n] = pc_at;
            kept_pcs[n] = pc;
            hows[n] = (uint8_t)tag_and_slot;
        } else {
            saves_rbp = slot != 0 ? sp : saves_rbp;
            before = pc_at;
        }
        pc_at = next;
        pc = sp_load(next);
    } while (++n != room);
    run->pc = pc;
    run->sp = pc_at + 8;
    if (row != NULL)
        before = n != 0 ? slots[n - 1] : 0;
    run->left_sp = before + 8;
    if (saves_rbp != 0) {
        uint64_t word = sp_load(saves_rbp);
        run->rbp_at = saves_rbp + sp_word_length(word) - 8 * (uintptr_t)sp_word_rbp_slot(word);
    }
    return (int)n;
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
