/* SPDX-License-Identifier: MIT */
/*
 * The walk in general, of whatever stack.
 *
 *     by word       (sp, pc) = (sp + length + 8, *(sp + length)), where coverage says that [sp] is a word
 *     by step       whatever else: step.c
 *     from memory   from where the walk comes to a frame of the thread's last walk: by re-reading return addresses only
 *
 * The three yield the same frames; each is only faster than the one before where it applies.
 */
#include "walk/general.h"

#include "walk/load.h"
#include "walk/run.h"
#include "walk/step.h"
#include "word/word.h"

#include <stddef.h>

#define INLINE inline __attribute__((always_inline))

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

/* Returns -1 where the walk must be a full one. recording is NULL where nothing is kept. */
static INLINE int walk(const struct sp_start *start, void **pcs, struct sp_frame *frames, int max, enum sp_end *end,
                       struct sp_recording *recording, struct sp_progress *progress)
{
    /* Field by field: what a step sets is not read before. */
    struct sp_cursor cursor;
    cursor.rbp = start->rbp;
    cursor.stacks = &sp_thread.stacks;
    cursor.bounds = progress->bounds;
    cursor.stack_changes = 0;
    cursor.coverage = sp_modules_program_coverage();
    cursor.checked_lo = cursor.checked_hi = 0;

    /* The frame that the walk has come to, and how. */
    uintptr_t pc = progress->pc, sp = progress->sp, left_sp = progress->left_sp;
    bool interrupted = progress->interrupted;
    struct sp_way way = progress->way;

    /* Where its rbp is saved, unless one of the last `unasked` frames of the new row saves it. */
    uintptr_t rbp_at = progress->rbp_at;
    unsigned unasked = progress->unasked;

    /* Where the frame is kept. */
    struct sp_kept_row *row = NULL;
    unsigned kept = 0;

    struct sp_ahead ahead = progress->ahead;
    uintptr_t last = cursor.bounds.last;
    struct sp_coverage coverage = cursor.coverage;
    unsigned look_from = SP_KEPT_PLACES; /* a frame of the old row from which to look ahead; SP_KEPT_PLACES: none */
    int n = progress->count;
    if (n == max)
        goto arrived;

    for (;;) {
        if (recording != NULL) {
            if (look_from != SP_KEPT_PLACES) {
                sp_ahead_look(&ahead, recording->old_row, look_from, max - n - 1, sp, &cursor.bounds);
                look_from = SP_KEPT_PLACES;
            }
            if (sp_ahead_is_reached(&ahead, sp) && sp_ahead_is_met(&ahead, recording->old_row, pc, sp, interrupted)) {
                /* From memory. */
                if (recording->reused != SP_NOT_REUSED && ahead.next != recording->last + 1)
                    sp_recording_leave_old(recording);
                if (recording->reused == SP_NOT_REUSED)
                    recording->reused = ahead.next;
                rbp_at = find_rbp(recording->new_row, recording->at, unasked, sp, rbp_at);
                unasked = 0;
                row = recording->old_row;
                if (ahead.rbp_at < sp)
                    sp_ahead_keep_by_rbp(&ahead, row, rbp_at);
                sp_kept_put(row, ahead.next, pc, sp, way);
                int count = (int)(ahead.to - ahead.next);
                if (count > max - n - 1)
                    count = max - n - 1;
                kept = recording->last = ahead.next + (unsigned)count;
                if (frames != NULL) {
                    put_kept_frames(frames + n, row, ahead.next, count);
                } else {
                    pcs[n] = (void *)pc;
                    sp_kept_put_pcs(pcs + n + 1, row, ahead.next + 1, count, ahead.rbp_at == UINTPTR_MAX);
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
            struct sp_run run = {pc, sp, &coverage, ahead.sp < last ? ahead.sp : last};
            int count;
            if (is_kept) {
                if (room > SP_KEPT_PLACES - 1 - (int)recording->at)
                    room = SP_KEPT_PLACES - 1 - (int)recording->at;
                count = frames != NULL ? sp_run_keep_frames(&run, frames + n, room, row, recording->at)
                                       : sp_run_keep_pcs(&run, pcs + n, room, row, recording->at);
            } else {
                if (recording != NULL) {
                    rbp_at = find_rbp(row, recording->at, unasked, sp, rbp_at);
                    unasked = 0;
                }
                count =
                    frames != NULL ? sp_run_put_frames(&run, frames + n, room) : sp_run_put_pcs(&run, pcs + n, room);
            }
            if (count != 0) {
                if (is_kept) {
                    if (!way.is_plain)
                        sp_kept_put(row, recording->at, pc, sp, way);
                    recording->at += (unsigned)count;
                    unasked += (unsigned)count;
                }
                if (is_kept)
                    left_sp = row->slot[recording->at - 1] + 8;
                else
                    sp_run_look_back(&run, sp, count, &rbp_at, &left_sp);
                n += count;
                pc = run.pc;
                sp = run.sp;
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
        if (recording != NULL && sp_rule_kind(rule) != SP_KIND_SP && row == recording->new_row) {
            rbp_at = find_rbp(row, kept, unasked, sp, rbp_at);
            unasked = 0;
        }
        caller_sp = sp_follow(rule, interrupted, sp, rbp_at, start->rbp, cursor.bounds.lo, last);
        if (caller_sp != 0) {
            rbp_slot = (uint8_t)sp_rule_slot(rule);
            by = sp_rule_state(rule) == SP_RULE_BY_WORD ? SP_RULE_WORD : SP_RULE_CFI;
            how = sp_how(by, rbp_slot, interrupted ? SP_KEPT_INTERRUPTED : 0);
            way = sp_way_of(rule, rbp_at, sp);
            goto arrive;
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
            way = sp_way_of(rule, rbp_at, sp);
            if (cursor.stack_changes != stack_changes) {
                sp_recording_restart(recording);
                row = recording->new_row;
                ahead.sp = UINTPTR_MAX;
                look_from = recording->old_row->first;
            }
        }
        if (result != SP_STEP_CALLER) {
            if (end_of(result) != SP_END_OUTERMOST && sp_bounds_forget(sp, cursor.stacks))
                result = SP_STEP_FULL_WALK;
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

    progress->stack_changes = cursor.stack_changes;
    if (recording != NULL) {
        if (n < 0)
            sp_recording_drop(recording);
        else
            sp_recording_end(recording, n);
    }
    return n;
}

int sp_walk_pcs(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                struct sp_progress *progress)
{
    return walk(start, sink->pcs, NULL, sink->max, end, NULL, progress);
}

int sp_walk_and_keep_pcs(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                         struct sp_recording *recording, struct sp_progress *progress)
{
    return walk(start, sink->pcs, NULL, sink->max, end, recording, progress);
}

int sp_walk_frames(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                   struct sp_progress *progress)
{
    return walk(start, NULL, sink->frames, sink->max, end, NULL, progress);
}

int sp_walk_and_keep_frames(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end,
                            struct sp_recording *recording, struct sp_progress *progress)
{
    return walk(start, NULL, sink->frames, sink->max, end, recording, progress);
}
