/* SPDX-License-Identifier: MIT */
/*
 * What a thread keeps between its walks: the extents of its stacks, and from its second walk on the frames of the last.
 *
 * The frames are kept innermost first, so that a walk whose inner frames differ and whose outer ones do not replaces
 * the inner ones in front of the others. A frame that is remembered is a guess. It is used where a walk arrives at the
 * same pc and SP, and then only if the word where its return address was found still holds the same return address: the
 * same pc, the same SP and a rule that depends on nothing else give the same caller.
 */
#ifndef SPWALK_THREAD_H
#define SPWALK_THREAD_H

#include "walk/bounds.h"
#include "word/word.h"

#include <spwalk.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A frame, and the word that shows that the walk still comes to it from the frame before.
 *
 * Where the rule of the frame before is kind RBP there is a second such word: the one in which its rbp is saved. It
 * must hold this frame's sp - 16. rbp_from says where it is; that holds as long as the frames from that word's on are
 * kept.
 */
struct sp_kept_frame {
    const uint64_t *slot; /* where its pc was read; a word that never equals pc where the rule of the frame before it
                             depends on more than its pc and SP */
    uint64_t pc;
    uintptr_t sp;
    uint64_t how; /* it was left: its frame word, or what sp_how makes */
};

enum {
    SP_KEPT_INTERRUPTED = 1, /* pc is exact */
    SP_KEPT_OUTERMOST = 2,   /* it has no caller */
};

/*
 * How a frame was left, in the form of a frame word without a tag:
 *
 *     bits 63..32  where its rbp is saved, from sp; 0: not known, or its rule is not CFA = rbp + 16
 *     bits 19..16  n: it saves rbp at CFA - 8 - 8n, where the CFA is the next frame's sp; 0: it does not
 *     bits 9..8    flags
 *     bits 1..0    an enum sp_rule
 */
static inline uint64_t sp_how(enum sp_rule rule, unsigned rbp_slot, unsigned flags, int32_t rbp_from)
{
    return (uint64_t)(uint32_t)rbp_from << 32 | (uint64_t)rbp_slot << SP_WORD_SLOT_SHIFT | flags << 8 | rule;
}

static inline enum sp_rule sp_how_rule(uint64_t how)
{
    return sp_word_is_tagged(how) ? SP_RULE_WORD : (enum sp_rule)(how & 3);
}

static inline unsigned sp_how_flags(uint64_t how)
{
    return sp_word_is_tagged(how) ? 0 : how >> 8 & 3;
}

static inline int32_t sp_how_rbp_from(uint64_t how)
{
    return sp_word_is_tagged(how) ? 0 : (int32_t)(how >> 32);
}

enum {
    SP_KEPT_FRAMES = 1024,
    SP_KEPT_ROOM = 256, /* left in front of a new row of frames, for the next ones that are put before them */
};

struct sp_kept_row {
    uint32_t first, end;                                            /* the frames are frames[first .. end - 1] */
    struct sp_kept_frame frames[SP_KEPT_ROOM + SP_KEPT_FRAMES + 1]; /* one past the last: sp == UINTPTR_MAX */
};

struct sp_memory {
    struct sp_memory *next_free;
    uintptr_t walk_sp; /* SP of the walk that is using this; 0: none */
    uint32_t current;  /* which row holds the last walk; the other one is written by the next */
    struct sp_kept_row rows[2];
};

struct sp_thread {
    struct sp_stacks stacks;
    struct sp_memory *memory; /* NULL: none yet */
    uint8_t walks;            /* 0 before the first; stops at 2 */
    uint8_t has_ended;        /* its destructors have run: it gets no memory any more */
};

extern __thread struct sp_thread sp_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The same where the thread has none yet, or another walk has it. */
struct sp_memory *sp_memory_get(uintptr_t sp);

/*
 * Takes the thread's memory for a walk that starts at sp. Returns NULL where there is none to be had: at the first walk
 * of a thread, in a handler that interrupted a walk, where memory is short.
 */
static inline struct sp_memory *sp_memory_take(uintptr_t sp)
{
    struct sp_memory *memory = sp_thread.memory;
    if (memory == NULL || memory->walk_sp != 0)
        return sp_memory_get(sp);
    memory->walk_sp = sp;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return memory;
}

static inline void sp_memory_give_back(struct sp_memory *memory)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memory->walk_sp = 0;
}

#endif
