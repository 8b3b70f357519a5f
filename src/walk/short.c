/* SPDX-License-Identifier: MIT */
#include "walk/short.h"

#include "walk/modules.h"
#include "walk/run.h"
#include "walk/step.h"

#include <stddef.h>

#define INLINE inline __attribute__((always_inline))

/*
 * Puts the row's frames from the one at (pc, sp) on, if it is one of the last few, and the last one has no caller.
 * Returns how many; 0: it isn't.
 */
static INLINE int put_outermost(const struct sp_kept_row *row, uintptr_t pc, uintptr_t sp, void **pcs, int room,
                                uintptr_t last)
{
    enum { MOST = 8 };
    unsigned end = row->end, first = end - row->first <= MOST ? row->first : end - MOST, i = first;
    if (!row->is_whole || row->slot[end - 1] > last)
        return 0;
    while (i != end && row->slot[i] != sp - 8)
        i++;
    if (i == end || row->pc[i] != pc || (int)(end - i) > room)
        return 0;
    for (unsigned at = i; at != end; at++, pcs++) {
        /* The slots ascend from sp on, but for sp_no_slot's address, which holds no pc. */
        if (sp_load(row->slot[at]) != row->pc[at])
            return 0;
        *pcs = (void *)row->pc[at];
    }
    return (int)(end - i);
}

/* An interrupted frame at the start, left by a rule that is followed without more ado. */
struct first {
    uintptr_t caller_sp; /* 0: it is not */
    sp_rule rule;
};

static INLINE struct first leave_first(const struct sp_start *start, uintptr_t lo, uintptr_t last)
{
    sp_rule rule = sp_rules_get(sp_lookup_address(start->pc, true));
    return (struct first){sp_follow(rule, true, start->sp, 0, start->rbp, lo, last), rule};
}

int sp_stride(const struct sp_start *start, const struct sp_sink *sink, const struct sp_kept_row *row,
              struct sp_progress *progress)
{
    sp_progress_begin(progress, start);
    const uintptr_t lo = progress->bounds.lo, last = progress->bounds.last;
    if (start->sp < lo || start->sp > last)
        return 0;

    struct sp_run run = {start->pc, start->sp, sp_modules_program_coverage(), last};
    int n = 0;
    if (start->interrupted) {
        struct first first = leave_first(start, lo, last);
        if (first.caller_sp == 0 || sink->max == 1 || first.caller_sp > last)
            return 0;
        if (sp_rule_slot(first.rule) != 0)
            progress->rbp_at = first.caller_sp - 8 - 8 * (uintptr_t)sp_rule_slot(first.rule);
        sink->pcs[n++] = (void *)start->pc;
        run.pc = sp_load(first.caller_sp - 8);
        run.sp = first.caller_sp;
    }
    const uintptr_t run_sp = run.sp;
    int count = sp_run_put_pcs(&run, sink->pcs + n, sink->max - n);
    n += count;
    int outermost = n != sink->max ? put_outermost(row, run.pc, run.sp, sink->pcs + n, sink->max - n, last) : 0;
    if (outermost != 0)
        return n + outermost;
    progress->pc = run.pc;
    progress->sp = run.sp;
    progress->left_sp = start->sp;
    progress->interrupted = false;
    sp_run_look_back(&run, run_sp, count, &progress->rbp_at, &progress->left_sp);
    progress->count = n;
    return 0;
}

int sp_splice(const struct sp_start *start, const struct sp_sink *sink, struct sp_recording *recording,
              struct sp_progress *progress)
{
    struct sp_kept_row *row = recording->old_row, *new_row = recording->new_row;
    struct sp_ahead *ahead = &progress->ahead;
    sp_progress_begin(progress, start);
    sp_ahead_look(ahead, row, row->first, sink->max - 1, start->sp, &progress->bounds);
    if (start->sp >= ahead->sp || ahead->sp == UINTPTR_MAX || start->sp < progress->bounds.lo)
        return 0;

    const uintptr_t last = ahead->sp < progress->bounds.last ? ahead->sp : progress->bounds.last;
    struct sp_run run = {start->pc, start->sp, sp_modules_program_coverage(), last};
    int n = 0;
    if (start->interrupted) {
        struct first first = leave_first(start, progress->bounds.lo, last);
        if (first.caller_sp == 0 || sink->max == 1)
            return 0;
        unsigned slot = sp_rule_slot(first.rule);
        if (slot != 0)
            progress->rbp_at = first.caller_sp - 8 - 8 * (uintptr_t)slot;
        else
            progress->unasked = 1;
        sp_kept_put(new_row, recording->at, start->pc, start->sp, progress->way);
        new_row->how[recording->at++] = sp_how(SP_RULE_CFI, slot, SP_KEPT_INTERRUPTED);
        progress->way = sp_way_of(first.rule, 0, start->sp);
        progress->left_sp = start->sp;
        progress->interrupted = false;
        sink->pcs[n++] = (void *)start->pc;
        run.pc = sp_load(first.caller_sp - 8);
        run.sp = first.caller_sp;
    }
    if (run.sp <= last) {
        uintptr_t pc = run.pc, sp = run.sp;
        int room = SP_KEPT_PLACES - 1 - (int)recording->at;
        if (room > sink->max - n)
            room = sink->max - n;
        int count = sp_run_keep_pcs(&run, sink->pcs + n, room, new_row, recording->at);
        if (count != 0) {
            if (!progress->way.is_plain)
                sp_kept_put(new_row, recording->at, pc, sp, progress->way);
            progress->way.is_plain = true;
            progress->unasked += (unsigned)count;
            recording->at += (unsigned)count;
            progress->left_sp = new_row->slot[recording->at - 1] + 8;
            n += count;
        }
    }
    progress->pc = run.pc;
    progress->sp = run.sp;
    progress->count = n;

    if (!sp_ahead_is_reached(ahead, run.sp) || n == sink->max || !sp_ahead_is_met(ahead, row, run.pc, run.sp, false))
        return 0;
    int further = (int)(ahead->to - ahead->next);
    if (!row->is_whole || ahead->to != row->end - 1 || ahead->rbp_at != UINTPTR_MAX || further >= sink->max - n)
        return 0;
    sp_kept_put(row, ahead->next, run.pc, run.sp, progress->way);
    sink->pcs[n] = (void *)run.pc;
    sp_kept_put_pcs(sink->pcs + n + 1, row, ahead->next + 1, further, true);
    n += further + 1;
    recording->reused = ahead->next;
    recording->last = ahead->to;
    sp_recording_end(recording, n);
    return n;
}
