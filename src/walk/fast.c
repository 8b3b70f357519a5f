/* SPDX-License-Identifier: MIT */
/*
 * The walk.
 *
 *     by word       (sp, pc) = (sp + length + 8, *(sp + length)), where coverage says that [sp] is a word
 *     by step       whatever else: step.c
 *     from memory   from where the walk comes to a frame of the thread's last walk: by re-reading return addresses only
 *
 * The three yield the same frames; each is only faster than the one before where it applies.
 */
#include "walk/ahead.h"
#include "walk/load.h"
#include "walk/recording.h"
#include "walk/step.h"
#include "word/word.h"

#include <emmintrin.h>
#include <stddef.h>

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

static void put_kept_frames(struct sp_frame *frames, const struct sp_kept_row *row, unsigned from, int count)
{
    for (int i = 0; i <= count; i++) {
        unsigned at = from + (unsigned)i;
        uintptr_t sp = sp_kept_sp(row, at);
        frames[i] = (struct sp_frame){
            .pc = sp_kept_pc(row, at),
            .sp = sp,
            .size = i != count ? (uint32_t)(sp_kept_sp(row, at + 1) - sp) : 0,
            .rule = (uint8_t)sp_how_rule(row->how[at]),
            .interrupted = sp_how_flags(row->how[at]) & SP_KEPT_INTERRUPTED,
        };
    }
}

/* The pcs of `count` frames from `from` on; where not all are plainly come to, are_plain is false. */
static INLINE void put_kept_pcs(void **pcs, const struct sp_kept_row *row, unsigned from, int count, bool are_plain)
{
    const uint64_t *kept = row->pc + from;
    int i = 0;
    for (; count - i >= 4; i += 4) {
        __m128i a = _mm_loadu_si128((const __m128i *)(kept + i)), b = _mm_loadu_si128((const __m128i *)(kept + i + 2));
        _mm_storeu_si128((__m128i *)(pcs + i), a);
        _mm_storeu_si128((__m128i *)(pcs + i + 2), b);
    }
    for (; i < count; i++)
        pcs[i] = (void *)kept[i];
    if (!are_plain)
        for (i = 0; i < count; i++)
            pcs[i] = (void *)sp_kept_pc(row, from + (unsigned)i);
}

/*
 * Where the rbp is saved of the frame that the last of `count` frames of a row, up to `end`, leads to: its sp is given.
 * `otherwise` where none of them saves it.
 */
static uintptr_t find_rbp(const struct sp_kept_row *row, unsigned end, unsigned count, uintptr_t sp,
                          uintptr_t otherwise)
{
    for (unsigned i = end; i != end - count; i--) {
        unsigned slot = sp_how_rbp_slot(row->how[i - 1]);
        if (slot != 0)
            return (i == end ? sp : sp_kept_sp(row, i)) - 8 - 8 * (uintptr_t)slot;
    }
    return otherwise;
}

static uint32_t size_between(uintptr_t sp, uintptr_t caller_sp)
{
    return caller_sp > sp && caller_sp - sp <= UINT32_MAX ? (uint32_t)(caller_sp - sp) : 0;
}

static enum sp_end end_of(enum sp_step_result result)
{
    switch (result) {
    case SP_STEP_OUTERMOST:
    case SP_STEP_NO_CALLER:
        return SP_END_OUTERMOST;
    case SP_STEP_UNREADABLE:
        return SP_END_UNREADABLE;
    case SP_STEP_NO_PROGRESS:
        return SP_END_NO_PROGRESS;
    default:
        return SP_END_NO_RULE;
    }
}

/* How a rule leads to the next frame, where its own frame's rbp is saved at rbp_at. */
static INLINE struct sp_way way_of(sp_rule rule, uintptr_t rbp_at, uintptr_t sp)
{
    enum sp_rule_kind kind = sp_rule_kind(rule);
    uintptr_t below = sp - rbp_at;
    bool is_near = rbp_at != 0 && below % 8 == 0 && below / 8 <= UINT32_MAX;
    if (rule & SP_RULE_VOLATILE || kind > SP_KIND_RBP)
        return (struct sp_way){false, 0};
    if (kind == SP_KIND_SP)
        return (struct sp_way){true, 0};
    return (struct sp_way){false, sp_rule_offset(rule) == 16 && is_near ? (uint32_t)(below / 8) : 0};
}

/* A word shifted right until its rbp slot is lowest is this and the slot, if it is tagged. */
enum { TAG_AT_SLOT = -0x5A40 };
_Static_assert((int64_t)SP_WORD_TAG >> SP_WORD_SLOT_SHIFT == TAG_AT_SLOT, "the word's layout");

/* Keeps the compiler from joining conditions: each is a branch, and well predicted. */
#define APART(value) __asm__("" : "+r"(value))

struct run {
    uintptr_t pc, sp, rbp_at;
    struct sp_coverage coverage;
    uintptr_t last_pc_at; /* the run goes on as long as the caller's pc is not read above this */
    uintptr_t left_sp;    /* SP of the last frame that was put */
};

/*
 * Puts frames from run->pc, run->sp on, at most `room` > 0, as long as they are left by their words; run then is the
 * frame after them. The word at run->sp can be read. Returns how many.
 *
 * With a row the frames are kept there from place `at` on, all of them as plainly come to, and run->rbp_at is let be.
 *
 * This is the loop that a walk is measured by. Its one dependent chain is the load of the length, scaled and added to
 * SP; all else is read beside it.
 */
static INLINE int put_run(struct run *run, void **pcs, struct sp_frame *frames, int room, struct sp_kept_row *row,
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
static NOINLINE int put_pcs(struct run *run, void **pcs, int room)
{
    return put_run(run, pcs, NULL, room, NULL, 0);
}

static NOINLINE int put_and_keep_pcs(struct run *run, void **pcs, int room, struct sp_kept_row *row, unsigned at)
{
    return put_run(run, pcs, NULL, room, row, at);
}

static NOINLINE int put_frames(struct run *run, struct sp_frame *frames, int room)
{
    return put_run(run, NULL, frames, room, NULL, 0);
}

static NOINLINE int put_and_keep_frames(struct run *run, struct sp_frame *frames, int room, struct sp_kept_row *row,
                                        unsigned at)
{
    return put_run(run, NULL, frames, room, row, at);
}

/* Returns -1 where the walk must be a full one. recording is NULL where nothing is kept. */
static INLINE int walk(const struct sp_start *start, void **pcs, struct sp_frame *frames, int max, enum sp_end *end,
                       struct sp_recording *recording)
{
    /* Field by field: what a step sets is not read before. */
    struct sp_cursor cursor;
    cursor.rbp = start->rbp;
    cursor.stacks = &sp_thread.stacks;
    cursor.bounds = sp_bounds_of(start->sp, cursor.stacks);
    cursor.stack_changes = 0;
    cursor.coverage = sp_modules_program_coverage();
    cursor.checked_lo = cursor.checked_hi = 0;

    /* The frame that the walk has come to, and how. */
    uintptr_t pc = start->pc, sp = start->sp, left_sp = 0;
    bool interrupted = start->interrupted;
    struct sp_way way = {false, 0};

    /* Where its rbp is saved, unless one of the last `unasked` frames of the new row saves it. */
    uintptr_t rbp_at = 0;
    unsigned unasked = 0;

    /* Where the frame is kept. */
    struct sp_kept_row *row = NULL;
    unsigned kept = 0;

    struct sp_ahead ahead = {.sp = UINTPTR_MAX};
    if (recording != NULL)
        sp_ahead_look(&ahead, recording->old_row, recording->old_row->first, max - 1, sp, cursor.bounds);

    uintptr_t last = cursor.bounds.last;
    struct sp_coverage coverage = cursor.coverage;
    unsigned look_from = SP_KEPT_PLACES; /* a frame of the old row from which to look ahead; SP_KEPT_PLACES: none */
    int n = 0;

    for (;;) {
        if (recording != NULL) {
            if (look_from != SP_KEPT_PLACES) {
                sp_ahead_look(&ahead, recording->old_row, look_from, max - n - 1, sp, cursor.bounds);
                look_from = SP_KEPT_PLACES;
            }
            if (sp >= ahead.sp && sp_ahead_is_met(&ahead, recording->old_row, pc, sp, interrupted)) {
                /* From memory. */
                if (recording->reused != SP_NOT_REUSED && ahead.next != recording->last + 1)
                    sp_recording_leave_old(recording);
                if (recording->reused == SP_NOT_REUSED)
                    recording->reused = ahead.next;
                rbp_at = find_rbp(recording->new_row, recording->at, unasked, sp, rbp_at);
                unasked = 0;
                row = recording->old_row;
                if (ahead.rbp_at < sp && ahead.rbp_at != rbp_at)
                    sp_ahead_keep_plain(&ahead, row);
                sp_kept_put(row, ahead.next, pc, sp, way);
                int count = (int)(ahead.to - ahead.next);
                if (count > max - n - 1)
                    count = max - n - 1;
                kept = recording->last = ahead.next + (unsigned)count;
                if (frames != NULL) {
                    put_kept_frames(frames + n, row, ahead.next, count);
                } else {
                    pcs[n] = (void *)pc;
                    put_kept_pcs(pcs + n + 1, row, ahead.next + 1, count, ahead.rbp_at == UINTPTR_MAX);
                }
                n += count + 1;
                if (sp_how_flags(row->how[kept]) & SP_KEPT_OUTERMOST) {
                    *end = SP_END_OUTERMOST;
                    break;
                }
                if (count > 0) {
                    /* What was looked at ahead can be read; now the walk is there. */
                    if (!sp_bounds_hold(&cursor.bounds, sp_kept_sp(row, kept) - 8))
                        cursor.bounds.can_extend = false;
                    last = cursor.bounds.last;
                    left_sp = sp_kept_sp(row, kept - 1);
                    pc = sp_kept_pc(row, kept);
                    sp = sp_kept_sp(row, kept);
                    interrupted = sp_how_flags(row->how[kept]) & SP_KEPT_INTERRUPTED;
                    rbp_at = find_rbp(row, kept, (unsigned)count, sp, rbp_at);
                }
                ahead.sp = UINTPTR_MAX;
                if (kept + 1 < row->end)
                    look_from = kept + 1;
                goto leave;
            }
            if (recording->reused != SP_NOT_REUSED)
                sp_recording_leave_old(recording);
            row = recording->new_row;
        }

        /* By word. */
        if (!interrupted && sp <= last) {
            bool is_kept = recording != NULL && recording->at != SP_KEPT_PLACES - 1;
            int room = max - n;
            struct run run = {pc, sp, rbp_at, coverage, ahead.sp - 8 < last ? ahead.sp - 8 : last, 0};
            int count;
            if (is_kept) {
                if (room > SP_KEPT_PLACES - 1 - (int)recording->at)
                    room = SP_KEPT_PLACES - 1 - (int)recording->at;
                count = frames != NULL ? put_and_keep_frames(&run, frames + n, room, row, recording->at)
                                       : put_and_keep_pcs(&run, pcs + n, room, row, recording->at);
            } else {
                if (recording != NULL) {
                    run.rbp_at = rbp_at = find_rbp(row, recording->at, unasked, sp, rbp_at);
                    unasked = 0;
                }
                count = frames != NULL ? put_frames(&run, frames + n, room) : put_pcs(&run, pcs + n, room);
            }
            if (count != 0) {
                if (is_kept) {
                    if (!way.is_plain)
                        sp_kept_put(row, recording->at, pc, sp, way);
                    recording->at += (unsigned)count;
                    unasked += (unsigned)count;
                }
                n += count;
                pc = run.pc;
                sp = run.sp;
                rbp_at = run.rbp_at;
                left_sp = run.left_sp;
                way.is_plain = true;
                goto arrived;
            }
        }

        if (recording != NULL) {
            kept = recording->at;
            sp_kept_put(row, kept, pc, sp, way);
        }
        if (frames != NULL)
            frames[n] = (struct sp_frame){.pc = pc, .sp = sp, .interrupted = interrupted};
        else
            pcs[n] = (void *)pc;
        n++;

    leave:;
        uintptr_t caller_sp;
        uint8_t by, rbp_slot, how;
        if (!interrupted && sp_covered(&coverage, pc - 1) && sp <= last) {
            uint64_t word = sp_load(sp);
            caller_sp = sp + sp_word_length(word) + 8;
            if (sp_word_is_plausible(word) && caller_sp - 8 <= last) {
                by = SP_RULE_WORD;
                rbp_slot = (uint8_t)sp_word_rbp_slot(word);
                how = sp_how_word(word);
                way.is_plain = true;
                goto arrive;
            }
        }

        sp_rule rule = sp_rules_get(sp_lookup_address(pc, interrupted));
        enum sp_rule_kind kind = sp_rule_kind(rule);
        if (recording != NULL && kind != SP_KIND_SP && row == recording->new_row) {
            rbp_at = find_rbp(row, kept, unasked, sp, rbp_at);
            unasked = 0;
        }
        if ((kind == SP_KIND_SP || kind == SP_KIND_RBP) && !(rule & SP_RULE_VOLATILE) &&
            (!interrupted || (rule & (SP_RULE_PROVEN | SP_RULE_BY_WORD)) == SP_RULE_PROVEN)) {
            caller_sp = sp;
            if (kind == SP_KIND_RBP)
                caller_sp = rbp_at != 0 ? sp_load(rbp_at) : start->rbp;
            caller_sp += sp_rule_offset(rule);
            rbp_slot = (uint8_t)sp_rule_slot(rule);
            if (sp >= cursor.bounds.lo && caller_sp > sp && caller_sp - 8 <= last &&
                caller_sp - 8 - 8 * (uintptr_t)rbp_slot >= sp) {
                by = rule & SP_RULE_BY_WORD ? SP_RULE_WORD : SP_RULE_CFI;
                how = sp_how(by, rbp_slot, interrupted ? SP_KEPT_INTERRUPTED : 0);
                way = way_of(rule, rbp_at, sp);
                goto arrive;
            }
        }

        if (recording != NULL && row == recording->new_row) {
            rbp_at = find_rbp(row, kept, unasked, sp, rbp_at);
            unasked = 0;
        }
        cursor.pc = pc;
        cursor.sp = sp;
        cursor.interrupted = interrupted;
        cursor.rbp_at = rbp_at;
        unsigned stack_changes = cursor.stack_changes;
        enum sp_step_result result = sp_step(&cursor);
        rule = cursor.followed;
        if (frames != NULL) {
            frames[n - 1].rule = cursor.rule;
            frames[n - 1].size = result == SP_STEP_CALLER ? size_between(sp, cursor.sp) : 0;
        }
        if (recording != NULL) {
            unsigned flags = (interrupted ? SP_KEPT_INTERRUPTED : 0) |
                             (result == SP_STEP_OUTERMOST && !(rule & SP_RULE_VOLATILE) ? SP_KEPT_OUTERMOST : 0);
            row->how[kept] = sp_how(cursor.rule, sp_rule_slot(rule) & 15, flags);
            if (row == recording->new_row && kept != SP_KEPT_PLACES - 1)
                recording->at = kept + 1;
            way = way_of(rule, rbp_at, sp);
            if (cursor.stack_changes != stack_changes) {
                sp_recording_restart(recording);
                row = recording->new_row;
                ahead.sp = UINTPTR_MAX;
                look_from = recording->old_row->first;
            }
        }
        if (result != SP_STEP_CALLER) {
            if (result == SP_STEP_FULL_WALK)
                n = -1;
            *end = end_of(result);
            if (result == SP_STEP_NO_CODE)
                sp_end_before(&(struct sp_sink){pcs, frames, max}, --n, result);
            if (result == SP_STEP_NO_CALLER && --n > 0) {
                if (frames != NULL)
                    frames[n - 1].size = 0;
                if (!sp_step_confirm_word(frames != NULL ? frames[n - 1].pc : (uintptr_t)pcs[n - 1], left_sp)) {
                    if (frames != NULL)
                        frames[n - 1].rule = SP_RULE_NONE;
                    *end = SP_END_NO_RULE;
                }
            }
            break;
        }
        pc = cursor.pc;
        left_sp = sp;
        sp = cursor.sp;
        interrupted = cursor.interrupted;
        rbp_at = cursor.rbp_at;
        last = cursor.bounds.last;
        coverage = cursor.coverage;
        goto arrived;

    arrive:
        if (recording != NULL) {
            row->how[kept] = how;
            if (row == recording->new_row && kept != SP_KEPT_PLACES - 1) {
                recording->at = kept + 1;
                unasked++;
            }
        }
        if (rbp_slot != 0) {
            rbp_at = caller_sp - 8 - 8 * (uintptr_t)rbp_slot;
            unasked = 0;
        }
        if (frames != NULL) {
            frames[n - 1].rule = by;
            frames[n - 1].size = size_between(sp, caller_sp);
        }
        pc = sp_load(caller_sp - 8);
        left_sp = sp;
        sp = caller_sp;
        interrupted = false;
    arrived:
        if (n == max) {
            *end = SP_END_FULL;
            if (pc == 0 && !interrupted && cursor.bounds.can_extend &&
                sp_step_confirm_word(frames != NULL ? frames[n - 1].pc : (uintptr_t)pcs[n - 1], left_sp))
                *end = SP_END_OUTERMOST;
            break;
        }
    }

    if (recording != NULL) {
        if (n < 0)
            sp_recording_drop(recording);
        else
            sp_recording_end(recording, n);
    }
    return n;
}

static NOINLINE int walk_anew(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
{
    struct sp_recording recording;
    sp_recording_begin(&recording, (uintptr_t)&recording);
    int n;
    if (sink->pcs != NULL)
        n = recording.memory != NULL ? walk(start, sink->pcs, NULL, sink->max, end, &recording)
                                     : walk(start, sink->pcs, NULL, sink->max, end, NULL);
    else
        n = recording.memory != NULL ? walk(start, NULL, sink->frames, sink->max, end, &recording)
                                     : walk(start, NULL, sink->frames, sink->max, end, NULL);
    return n >= 0 ? n : sp_walk_full(start, sink, end);
}

/* The walk that the thread's last one was, if it is that again; else 0. */
static INLINE int repeat(const struct sp_start *start, const struct sp_sink *sink)
{
    struct sp_memory *memory = sp_thread.memory;
    if (sink->pcs == NULL || memory == NULL || memory->walk_sp != 0)
        return 0;
    const struct sp_kept_row *row = &memory->rows[memory->current];
    if (row->start_sp != start->sp || row->start_pc != start->pc)
        return 0;
    memory->walk_sp = (uintptr_t)&memory;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct sp_bounds bounds = sp_bounds_of(start->sp, &sp_thread.stacks);
    int n = sp_ahead_repeat(row, start->interrupted, sink->pcs, sink->max, &bounds);
    sp_memory_give_back(memory);
    return n;
}

int sp_walk_fast(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
{
    int n = repeat(start, sink);
    if (n == 0)
        return walk_anew(start, sink, end);
    *end = SP_END_OUTERMOST;
    return n;
}
