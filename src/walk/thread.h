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

enum {
    SP_KEPT_FRAMES = 1024,
    SP_KEPT_ROOM = 256, /* left in front of a new row of frames, for the next ones that are put before them */
    SP_OUTERMOST = 4,   /* the most that are known apart from the rows */
    SP_KEPT_PLACES = SP_KEPT_ROOM + SP_KEPT_FRAMES + 1, /* the last is written where there is no place */
};

/*
 * Frames, and the words that show that a walk still comes to each from the one before.
 *
 * A frame is plainly come to where the rule of the frame before depends on its pc and SP alone: then its pc is read
 * right below it, and as long as it is found there, all of it is as it was. Of the others no word tells that; only
 * where the rule of the frame before is CFA = rbp + 16 two do: the pc, and the word in which that frame's rbp is saved,
 * which must hold this frame's sp - 16. Where that rbp is the one the walk starts with, it must be that.
 *
 * Arrays, so that re-reading takes few loads, and pcs are copied as they stand.
 */
struct sp_kept_row {
    uint32_t first, end;            /* the frames are first .. end - 1 */
    uintptr_t slot[SP_KEPT_PLACES]; /* plainly come to: sp - 8; else the address of sp_no_slot */
    uint64_t pc[SP_KEPT_PLACES];    /* plainly come to: its pc; else what sp_no_slot never holds */
    uint8_t how[SP_KEPT_PLACES];    /* it was left: sp_how_word or sp_how */
    struct {
        uintptr_t pc, sp;
        uint32_t rbp_below;  /* how many words below the sp of the frame before its rbp is saved, where its rule is
                                CFA = rbp + 16 and that is known; SP_RBP_AT_START; else 0 */
    } other[SP_KEPT_PLACES]; /* where it is not plainly come to */
};

/* What is read in place of a slot, and what stands in place of the pc, where no slot tells. */
extern const uint64_t sp_no_slot;
enum { SP_NO_PC = 1 };

/* In place of rbp_below: the rule of the frame before is CFA = rbp + 16, and its rbp the one the walk started with. */
#define SP_RBP_AT_START UINT32_MAX

enum {
    SP_KEPT_INTERRUPTED = 1, /* pc is exact */
    SP_KEPT_OUTERMOST = 2,   /* it has no caller */
};

/*
 * How a frame was left:
 *
 *     bits 7..4    0xC: by its frame word, of which this is the third byte. Else:
 *     bits 7..6    flags
 *     bits 5..4    an enum sp_rule
 *     bits 3..0    n: it saves rbp at CFA - 8 - 8n, where the CFA is the next frame's sp; 0: it does not
 */
static inline uint8_t sp_how_word(uint64_t word)
{
    return (uint8_t)(word >> SP_WORD_SLOT_SHIFT);
}

static inline uint8_t sp_how(enum sp_rule rule, unsigned rbp_slot, unsigned flags)
{
    return (uint8_t)(flags << 6 | rule << 4 | rbp_slot);
}

static inline bool sp_how_is_word(uint8_t how)
{
    return how >> 4 == 0xC;
}

static inline enum sp_rule sp_how_rule(uint8_t how)
{
    return sp_how_is_word(how) ? SP_RULE_WORD : (enum sp_rule)(how >> 4 & 3);
}

static inline unsigned sp_how_flags(uint8_t how)
{
    return sp_how_is_word(how) ? 0 : how >> 6;
}

static inline unsigned sp_how_rbp_slot(uint8_t how)
{
    return how & 15;
}

static inline bool sp_kept_is_plain(const struct sp_kept_row *row, unsigned i)
{
    return row->slot[i] != (uintptr_t)&sp_no_slot;
}

static inline uintptr_t sp_kept_sp(const struct sp_kept_row *row, unsigned i)
{
    return sp_kept_is_plain(row, i) ? row->slot[i] + 8 : row->other[i].sp;
}

static inline uintptr_t sp_kept_pc(const struct sp_kept_row *row, unsigned i)
{
    return sp_kept_is_plain(row, i) ? row->pc[i] : row->other[i].pc;
}

/* How the walk came to a frame. */
struct sp_way {
    bool is_plain;
    uint32_t rbp_below; /* where it is not: as above */
};

static inline void sp_kept_put(struct sp_kept_row *row, unsigned i, uintptr_t pc, uintptr_t sp, struct sp_way way)
{
    row->slot[i] = way.is_plain ? sp - 8 : (uintptr_t)&sp_no_slot;
    row->pc[i] = way.is_plain ? pc : SP_NO_PC;
    if (!way.is_plain) {
        row->other[i].pc = pc;
        row->other[i].sp = sp;
        row->other[i].rbp_below = way.rbp_below;
    }
}

/* How far a short way has got that is not the whole walk (backtrace.c). */
struct sp_stopped {
    int count;           /* frames put; 0: the walk is at its start */
    int run_count;       /* of these in a run of words */
    uintptr_t pc, sp;    /* the frame after them */
    uint64_t rule;       /* an sp_rule: of the first frame, where that is interrupted */
    uintptr_t caller_sp; /* the second frame's, likewise */
    bool has_looked;     /* what follows is set, as in struct sp_ahead */
    uintptr_t ahead_sp;
    unsigned next, to;
    uintptr_t rbp_at;
};

/* What every walk looks at comes first, and lies together: the lines of a row are seldom in a cache. */
struct sp_memory {
    uintptr_t walk_sp;            /* SP of the walk that is using this; 0: none */
    struct sp_kept_row *row;      /* which of the rows holds the last walk; the other one is written by the next */
    uintptr_t start_pc, start_sp; /* the first frame's of the last walk; start_sp is 0 where there is none */
    uint8_t is_interrupted;       /* that frame's pc is exact */
    uint8_t is_whole;             /* the last frame has no caller */
    uint8_t strange; /* how many kept walks in a row found few of their frames known; stops at WALKS_STRANGE_MAX */
    /*
     * How many frames of the last walk that was whole lie above all that are left by a word: a few of libc's. Each is
     * plainly come to, by these slots and pcs, which are a guess as all others are. 0: there are none, or too many.
     */
    uint32_t outermost;
    uintptr_t outermost_slot[SP_OUTERMOST];
    uint64_t outermost_pc[SP_OUTERMOST];
    struct sp_memory *next_free;
    struct sp_stopped stopped; /* the walk that has this */
    struct sp_kept_row rows[2];
};

static inline struct sp_kept_row *sp_memory_other_row(struct sp_memory *memory)
{
    return &memory->rows[memory->row == memory->rows];
}

static inline void sp_memory_empty(struct sp_memory *memory)
{
    memory->row->first = memory->row->end = SP_KEPT_ROOM;
    memory->start_sp = 0;
    memory->is_whole = 0;
    memory->outermost = 0;
}

/* In one line of the cache. */
struct sp_thread {
    struct sp_stacks stacks;
    struct sp_memory *memory; /* NULL: none yet */
    uint8_t walks;            /* 0 before the first; stops at 2 */
    uint8_t unkept;           /* so many walks to come are not kept */
    uint8_t has_ended;        /* its destructors have run: it gets no memory any more */
} __attribute__((aligned(64)));

extern __thread struct sp_thread sp_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Makes memory that no walk has one's own, for a walk that is at sp. */
static inline void sp_memory_hold(struct sp_memory *memory, uintptr_t sp)
{
    memory->walk_sp = sp;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void sp_memory_give_back(struct sp_memory *memory)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memory->walk_sp = 0;
}

/*
 * For a walk that another one kept from the memory, and that came from `lowest`, where the thread is at work, through
 * the frame at sp to the outermost one, on one stack: where that is the thread's own, all frames of the thread are
 * above `lowest`. A walk that has the memory and was further in is no more, and the memory is free again.
 */
void sp_memory_regain(uintptr_t lowest, uintptr_t sp);

/* As sp_memory_take, where the thread has none yet, or another walk has it. */
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
    sp_memory_hold(memory, sp);
    return memory;
}

#endif
