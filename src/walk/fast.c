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
#include "walk/load.h"
#include "walk/recording.h"
#include "walk/step.h"
#include "word/word.h"

#include <stddef.h>

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

/* rbp of the old frame `at`, where the walk came onto the old row at `from` with *rbp_at. */
static void find_rbp(const struct sp_kept_frame *from, const struct sp_kept_frame *at, uintptr_t *rbp_at)
{
    while (at != from) {
        at--;
        if (sp_word_rbp_slot(at->how) != 0) {
            *rbp_at = at[1].sp - 8 - 8 * (uintptr_t)sp_word_rbp_slot(at->how);
            return;
        }
    }
}

/* Whether the walk still comes to the frame after `frame`, whose rule is CFA = rbp + 16, by the saved rbp and the pc.
 */
static INLINE bool is_next_by_rbp(const struct sp_kept_frame *frame, uintptr_t lowest, uintptr_t first_rbp_at)
{
    int32_t rbp_from = sp_how_rbp_from(frame->how);
    uintptr_t rbp_at = frame->sp + (uintptr_t)(intptr_t)rbp_from;
    return rbp_from != 0 && (rbp_at >= lowest || rbp_at == first_rbp_at) && sp_load(rbp_at) == frame[1].sp - 16 &&
           sp_load(frame[1].sp - 8) == frame[1].pc;
}

/* How many of the frames after `frame`, whose rbp is saved at rbp_at, at most `count`, are still come to. Their pcs go
 * to pcs where that is set. */
static INLINE int verify(const struct sp_kept_frame *frame, uintptr_t rbp_at, int count, void **pcs, const bool are_put)
{
    const uintptr_t lowest = frame->sp;
    int i = 0;
    for (;;) {
        for (; count - i >= 4; i += 4) {
            const struct sp_kept_frame *f = frame + 1 + i;
            uint64_t a = sp_load((uintptr_t)f[0].slot), b = sp_load((uintptr_t)f[1].slot),
                     c = sp_load((uintptr_t)f[2].slot), d = sp_load((uintptr_t)f[3].slot);
            if (((a ^ f[0].pc) | (b ^ f[1].pc) | (c ^ f[2].pc) | (d ^ f[3].pc)) != 0)
                break;
            if (are_put) {
                pcs[i] = (void *)a;
                pcs[i + 1] = (void *)b;
                pcs[i + 2] = (void *)c;
                pcs[i + 3] = (void *)d;
            }
        }
        for (; i < count; i++) {
            const struct sp_kept_frame *f = frame + 1 + i;
            if (sp_load((uintptr_t)f->slot) != f->pc)
                break;
            if (are_put)
                pcs[i] = (void *)f->pc;
        }
        int before = i;
        for (; i < count && frame[1 + i].slot == &sp_no_slot && is_next_by_rbp(frame + i, lowest, rbp_at); i++)
            if (are_put)
                pcs[i] = (void *)frame[1 + i].pc;
        if (i == before)
            return i;
    }
}

/* Functions of their own, so that the loop has all registers to itself. */
static NOINLINE int verify_and_put(const struct sp_kept_frame *frame, uintptr_t rbp_at, int count, void **pcs)
{
    return verify(frame, rbp_at, count, pcs, true);
}

static NOINLINE int verify_only(const struct sp_kept_frame *frame, uintptr_t rbp_at, int count)
{
    return verify(frame, rbp_at, count, NULL, false);
}

static void put_kept_frames(struct sp_frame *frames, const struct sp_kept_frame *kept, int count)
{
    for (int i = 0; i < count; i++)
        frames[i] = (struct sp_frame){
            .pc = kept[i].pc,
            .sp = kept[i].sp,
            .size = (uint32_t)(kept[i + 1].sp - kept[i].sp),
            .rule = (uint8_t)sp_how_rule(kept[i].how),
            .interrupted = sp_how_flags(kept[i].how) & SP_KEPT_INTERRUPTED,
        };
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

/*
 * Whether the walk, at (pc, sp), has come to a frame of the old row, *guess then. Where stacks meet they are the same
 * from there on, so it is enough to look now and then, after 8, 32, 128 frames: a search at each would cost a
 * mispredicted branch at each.
 */
enum { FIRST_STRIDE = 8 };

static INLINE bool look(struct sp_recording *recording, struct sp_kept_frame **guess, uintptr_t *look_at,
                        unsigned *stride, uintptr_t pc, uintptr_t sp, bool interrupted)
{
    struct sp_kept_frame *g = *guess;
    while (g->sp < sp)
        g++;
    if (g->sp == sp && g->pc == pc && (sp_how_flags(g->how) & SP_KEPT_INTERRUPTED) == interrupted) {
        *guess = g;
        return true;
    }
    *guess = g;
    const struct sp_kept_frame *end = recording->old_row->frames + recording->old_row->end;
    if (end - g > 1) {
        *look_at = (size_t)(end - g) > *stride ? g[*stride].sp : end[-1].sp;
        *stride *= 4;
    } else {
        *look_at = UINTPTR_MAX;
    }
    return false;
}

/* Where a frame's rbp is saved, from its sp, if its rule is CFA = rbp + 16; else 0. */
static INLINE int32_t rbp_from(sp_rule rule, uintptr_t rbp_at, uintptr_t sp)
{
    intptr_t from = (intptr_t)(rbp_at - sp);
    bool is_near = rbp_at != 0 && from == (int32_t)from;
    return sp_rule_kind(rule) == SP_KIND_RBP && sp_rule_offset(rule) == 16 && !(rule & SP_RULE_VOLATILE) && is_near
               ? (int32_t)from
               : 0;
}

/* Where the pc of a frame at caller_sp was read, if the rule that led there depends on pc and SP alone. */
static INLINE const uint64_t *slot_by(sp_rule rule, uintptr_t caller_sp)
{
    return sp_rule_kind(rule) == SP_KIND_SP && !(rule & SP_RULE_VOLATILE) ? (const uint64_t *)(caller_sp - 8)
                                                                          : &sp_no_slot;
}

struct run {
    uintptr_t pc, sp, rbp_at;
    struct sp_coverage coverage;
    uintptr_t last_pc_at; /* the run goes on as long as the caller's pc is not read above this */
    uintptr_t left_sp;    /* SP of the last frame that was put */
};

/*
 * Puts frames from run->pc, run->sp on, at most `room`, as long as they are left by their words; run then is the frame
 * after them. The word at run->sp can be read, and kept[0].slot has been set. Returns how many.
 *
 * This is the loop that a walk is measured by. Its one dependent chain is the load of the length, scaled and added to
 * SP; all else is read beside it.
 */
static INLINE int put_run(struct run *run, void **pcs, struct sp_frame *frames, struct sp_kept_frame *kept, int room,
                          const bool is_kept)
{
    const struct sp_coverage coverage = run->coverage;
    const uintptr_t last_pc_at = run->last_pc_at;
    uintptr_t pc = run->pc, pc_at = run->sp - 8, saves_rbp = 0, left_sp = 0;
    int n = 0;
    for (; n < room && sp_covered(&coverage, pc - 1); n++) {
        uintptr_t sp = pc_at + 8;
        uint64_t word = sp_load(sp);
        uintptr_t next, length = sp_load_length(pc_at, sp, &next);
        if (!sp_word_is_tagged(word) || length == 0 || next > last_pc_at)
            break;
        pc_at = next;
        saves_rbp = word & SP_WORD_SLOT ? sp : saves_rbp;
        left_sp = sp;
        if (frames != NULL)
            frames[n] = (struct sp_frame){pc, sp, (uint32_t)length * 8 + 8, SP_RULE_WORD, 0};
        else
            pcs[n] = (void *)pc;
        if (is_kept) {
            kept[n].pc = pc;
            kept[n].sp = sp;
            kept[n].how = word;
            kept[n + 1].slot = (const uint64_t *)pc_at;
        }
        pc = sp_load(pc_at);
    }
    run->pc = pc;
    run->sp = pc_at + 8;
    run->left_sp = left_sp;
    if (saves_rbp != 0) {
        uint64_t word = sp_load(saves_rbp);
        /* A damaged word may name a slot below itself: then rbp is what it is not, but can be read. */
        uintptr_t slots = sp_word_is_plausible(word) ? sp_word_rbp_slot(word) : 0;
        run->rbp_at = saves_rbp + sp_word_length(word) - 8 * slots;
    }
    return n;
}

/* Functions of their own, like the above. */
static NOINLINE int put_pcs(struct run *run, void **pcs, int room)
{
    return put_run(run, pcs, NULL, NULL, room, false);
}

static NOINLINE int put_and_keep_pcs(struct run *run, void **pcs, struct sp_kept_frame *kept, int room)
{
    return put_run(run, pcs, NULL, kept, room, true);
}

static NOINLINE int put_frames(struct run *run, struct sp_frame *frames, int room)
{
    return put_run(run, NULL, frames, NULL, room, false);
}

static NOINLINE int put_and_keep_frames(struct run *run, struct sp_frame *frames, struct sp_kept_frame *kept, int room)
{
    return put_run(run, NULL, frames, kept, room, true);
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

    /* The frame that the walk has come to, where its rbp is saved, where its pc was read. */
    uintptr_t pc = start->pc, sp = start->sp, rbp_at = 0, left_sp = 0;
    bool interrupted = start->interrupted;
    const uint64_t *slot = &sp_no_slot;

    uintptr_t last = cursor.bounds.last;
    struct sp_coverage coverage = cursor.coverage;
    uintptr_t look_at = 0;
    unsigned stride = FIRST_STRIDE;
    struct sp_kept_frame *kept = NULL, *guess = recording != NULL ? recording->guess : NULL;
    int n = 0;

    for (;;) {
        if (recording != NULL) {
            if (sp >= look_at && look(recording, &guess, &look_at, &stride, pc, sp, interrupted)) {
                /* From memory. */
                struct sp_kept_frame *from = guess;
                if (recording->reused != NULL && from != kept + 1)
                    sp_recording_leave_old(recording, kept);
                if (recording->reused == NULL)
                    recording->reused = from;
                from->slot = slot;
                int count = (int)(recording->old_row->frames + recording->old_row->end - 1 - from);
                if (count > max - n - 1)
                    count = max - n - 1;
                /* The slots ascend: where the last can be read, all can. */
                if (count > 0 && from[count].sp - 8 > last) {
                    if (!sp_bounds_hold(&cursor.bounds, from[count].sp - 8))
                        count = 0;
                    last = cursor.bounds.last;
                }
                if (frames != NULL) {
                    count = verify_only(from, rbp_at, count);
                    put_kept_frames(frames + n, from, count + 1);
                } else {
                    pcs[n] = (void *)pc;
                    count = verify_and_put(from, rbp_at, count, pcs + n + 1);
                }
                n += count + 1;
                kept = from + count;
                guess = kept + 1;
                look_at = 0;
                stride = FIRST_STRIDE;
                if (sp_how_flags(kept->how) & SP_KEPT_OUTERMOST) {
                    if (frames != NULL)
                        frames[n - 1].size = 0;
                    *end = SP_END_OUTERMOST;
                    break;
                }
                if (count > 0)
                    left_sp = kept[-1].sp;
                find_rbp(from, kept, &rbp_at);
                pc = kept->pc;
                sp = kept->sp;
                interrupted = sp_how_flags(kept->how) & SP_KEPT_INTERRUPTED;
                goto leave;
            }
            if (recording->reused != NULL)
                sp_recording_leave_old(recording, kept);
        }

        /* By word. */
        if (!interrupted && sp <= last) {
            int room = max - n;
            if (recording != NULL) {
                recording->at->slot = slot;
                if (room > recording->limit - recording->at)
                    room = (int)(recording->limit - recording->at);
            }
            struct run run = {pc, sp, rbp_at, coverage, look_at - 9 < last - 8 ? look_at - 9 : last - 8, 0};
            int count;
            if (frames != NULL)
                count = recording != NULL ? put_and_keep_frames(&run, frames + n, recording->at, room)
                                          : put_frames(&run, frames + n, room);
            else
                count = recording != NULL ? put_and_keep_pcs(&run, pcs + n, recording->at, room)
                                          : put_pcs(&run, pcs + n, room);
            if (count != 0) {
                n += count;
                pc = run.pc;
                sp = run.sp;
                rbp_at = run.rbp_at;
                left_sp = run.left_sp;
                if (recording != NULL) {
                    recording->at += count;
                    kept = recording->at - 1;
                    slot = (const uint64_t *)(sp - 8);
                }
                goto arrived;
            }
        }

        if (recording != NULL) {
            kept = recording->at != recording->limit ? recording->at++ : &recording->spare;
            kept->slot = slot;
            kept->pc = pc;
            kept->sp = sp;
        }
        if (frames != NULL)
            frames[n] = (struct sp_frame){.pc = pc, .sp = sp, .interrupted = interrupted};
        else
            pcs[n] = (void *)pc;
        n++;

    leave:;
        uintptr_t caller_sp;
        uint8_t by, rbp_slot;
        if (!interrupted && sp_covered(&coverage, pc - 1) && sp <= last) {
            uint64_t word = sp_load(sp);
            caller_sp = sp + sp_word_length(word) + 8;
            if (sp_word_is_plausible(word) && caller_sp - 8 <= last) {
                by = SP_RULE_WORD;
                rbp_slot = (uint8_t)sp_word_rbp_slot(word);
                if (recording != NULL) {
                    kept->how = word;
                    slot = (const uint64_t *)(caller_sp - 8);
                }
                goto arrive;
            }
        }

        sp_rule rule = sp_rules_get(sp_lookup_address(pc, interrupted));
        enum sp_rule_kind kind = sp_rule_kind(rule);
        if ((kind == SP_KIND_SP || kind == SP_KIND_RBP) && !(rule & SP_RULE_VOLATILE) &&
            !(rule & SP_RULE_BY_WORD && interrupted)) {
            caller_sp = sp;
            if (kind == SP_KIND_RBP)
                caller_sp = rbp_at != 0 ? sp_load(rbp_at) : start->rbp;
            caller_sp += sp_rule_offset(rule);
            rbp_slot = (uint8_t)sp_rule_slot(rule);
            if (sp >= cursor.bounds.lo && caller_sp > sp && caller_sp - 8 <= last &&
                caller_sp - 8 - 8 * (uintptr_t)rbp_slot >= sp) {
                by = rule & SP_RULE_BY_WORD ? SP_RULE_WORD : SP_RULE_CFI;
                goto follow;
            }
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
            kept->how = sp_how(cursor.rule, sp_rule_slot(rule), flags, rbp_from(rule, rbp_at, sp));
            slot = slot_by(rule, cursor.sp);
            if (cursor.stack_changes != stack_changes) {
                sp_recording_restart(recording);
                guess = recording->guess;
                look_at = 0;
            }
        }
        if (result != SP_STEP_CALLER) {
            if (result == SP_STEP_FULL_WALK)
                n = -1;
            *end = end_of(result);
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

    follow:
        if (recording != NULL) {
            kept->how = sp_how(by, rbp_slot, interrupted ? SP_KEPT_INTERRUPTED : 0, rbp_from(rule, rbp_at, sp));
            slot = slot_by(rule, caller_sp);
        }
    arrive:
        if (rbp_slot != 0)
            rbp_at = caller_sp - 8 - 8 * (uintptr_t)rbp_slot;
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
        recording->last = kept;
        if (n < 0)
            sp_recording_drop(recording);
        else if (!sp_recording_end_unchanged(recording))
            sp_recording_end(recording);
    }
    return n;
}

int sp_walk_fast(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
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
