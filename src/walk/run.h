/* SPDX-License-Identifier: MIT */
/*
 * A run of frames that are left by their words: where most of a walk's time goes.
 *
 * Each function puts frames from run->pc, run->sp on, at most `room` > 0, as long as they are left by their words; run
 * then is the frame after them. The word at run->sp can be read. Returns how many.
 */
#ifndef SPWALK_RUN_H
#define SPWALK_RUN_H

#include "walk/load.h"
#include "walk/thread.h"
#include "word/coverage.h"
#include "word/word.h"

#include <stddef.h>

struct sp_run {
    uintptr_t pc, sp;
    const struct sp_coverage *coverage;
    uintptr_t last_sp; /* the run goes on as long as the caller's SP is not above this, where a word can be read */
};

int sp_run_put_pcs(struct sp_run *run, void **pcs, int room);
int sp_run_put_frames(struct sp_run *run, struct sp_frame *frames, int room);

/*
 * After the run of `count` frames that began at sp: where the last of them that saves its rbp does so, and SP of the
 * last one. What there is none of is let be.
 */
void sp_run_look_back(const struct sp_run *run, uintptr_t sp, int count, uintptr_t *rbp_at, uintptr_t *left_sp);

/* Puts frames, and keeps them in the row from place `at` on, all of them as plainly come to. */
int sp_run_keep_pcs(struct sp_run *run, void **pcs, int room, struct sp_kept_row *row, unsigned at);
int sp_run_keep_frames(struct sp_run *run, struct sp_frame *frames, int room, struct sp_kept_row *row, unsigned at);

/* A word shifted right until its rbp slot is lowest is this and the slot, if it is tagged. */
enum { SP_TAG_AT_SLOT = -0x5A40 };
_Static_assert((int64_t)SP_WORD_TAG >> SP_WORD_SLOT_SHIFT == SP_TAG_AT_SLOT, "the word's layout");

/* Keeps the compiler from joining conditions: each is a branch, and well predicted. */
#define SP_APART(value) __asm__("" : "+r"(value))

/*
 * This is the loop that a walk is measured by. Its one dependent chain is the load of a word's length, whose address is
 * made of the one before; all else is read beside it.
 */
static inline __attribute__((always_inline)) int sp_run_put(struct sp_run *run, void **pcs, struct sp_frame *frames,
                                                            int room, struct sp_kept_row *row, unsigned at)
{
    const struct sp_coverage *const coverage = run->coverage;
    const uintptr_t span = sp_coverage_span(coverage), last_sp = run->last_sp;
    uintptr_t from_lo = -(coverage->lo + 1);
    const uint64_t *const whole = coverage->whole;
    uintptr_t *const slots = row != NULL ? row->slot + at : NULL;
    uint64_t *const kept_pcs = row != NULL ? row->pc + at : NULL;
    uint8_t *const hows = row != NULL ? row->how + at : NULL;
    uintptr_t pc = run->pc, above = run->sp + 8;
    uintptr_t length = sp_load_length(run->sp, 0);
    long n = 0;
    SP_APART(from_lo); /* added in one instruction, and pc is kept */
    do {
        uintptr_t offset = pc + from_lo;
        if (offset >= span)
            break;
        bool is_whole = whole[offset >> 15] >> (offset >> 9 & 63) & 1;
        if (__builtin_expect(!is_whole, 0) && !sp_covered_in_part(coverage, offset))
            break;
        int64_t tag_and_slot = (int64_t)sp_load(above - 8) >> SP_WORD_SLOT_SHIFT;
        uint64_t slot = (uint64_t)(tag_and_slot - SP_TAG_AT_SLOT);
        if (slot > SP_WORD_SLOT_MAX)
            break;
        SP_APART(slot);
        if (slot >= length)
            break;
        SP_APART(length);
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
    SP_APART(above); /* what it is less 8 is of no use in the loop */
    run->pc = pc;
    run->sp = above - 8;
    return (int)n;
}

#endif
