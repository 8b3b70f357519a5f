/* SPDX-License-Identifier: MIT */
/*
 * The frame word: 8 bytes at [SP], stored by one instruction of the prologue: `push $imm32`, which also makes the last
 * 8 bytes of the frame, or `movq $imm32, (%rsp)` where the prologue has no place for a push; or by such a movq on each
 * path that calls, where those paths are rare.
 *
 *     bits 63..32  all ones (the sign extension)
 *     bits 31..20  0xA5C                      tag
 *     bits 19..16  rbp slot: 0 = rbp not saved, n = saved at CFA - 8 - 8n
 *     bits 15..0   length / 8                 length = CFA - 8 - SP
 *
 *     (sp, ra) = (sp + length + 8, *(sp + length));  rbp = slot ? *(sp + length - 8 * slot) : rbp
 *
 * The length fills the low 16 bits so that the walk's one dependent chain is a 16-bit load and a scaled add.
 */
#ifndef SPWALK_WORD_H
#define SPWALK_WORD_H

#include <stdbool.h>
#include <stdint.h>

#define SP_WORD_TAG UINT64_C(0xFFFFFFFFA5C00000)
#define SP_WORD_TAG_MASK UINT64_C(0xFFFFFFFFFFF00000)
#define SP_WORD_SLOT_SHIFT 16
#define SP_WORD_SLOT UINT64_C(0xF0000)
#define SP_WORD_SLOT_MAX 15
#define SP_WORD_LENGTH_MAX (UINT32_C(0xFFFF) * 8)

static inline bool sp_word_is_tagged(uint64_t word)
{
    return (word & SP_WORD_TAG_MASK) == SP_WORD_TAG;
}

/* The frame's length in bytes, CFA - 8 - SP. */
static inline uint32_t sp_word_length(uint64_t word)
{
    return (uint32_t)(word & 0xFFFF) * 8;
}

/* n where rbp is saved at CFA - 8 - 8n; 0 where the frame does not save it. */
static inline uint32_t sp_word_rbp_slot(uint64_t word)
{
    return (uint32_t)(word >> SP_WORD_SLOT_SHIFT) & SP_WORD_SLOT_MAX;
}

/* Whether a word can be one: tagged, and long enough to hold itself and the rbp slot it names. */
static inline bool sp_word_is_plausible(uint64_t word)
{
    return sp_word_is_tagged(word) && sp_word_rbp_slot(word) < (word & 0xFFFF);
}

#endif
