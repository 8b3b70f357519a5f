/* SPDX-License-Identifier: MIT */
/* Runs the walkers at a step and judges what they say, at once or, where the truth depends on a jump to come, later. */
#include "oracle.h"

#include <errno.h>

#define TRANSIT_AGE 512 /* steps after which a transfer is taken not to come */
#define ERRNO_MARK 0x5A5A

static struct step_pending *oldest(struct step_thread *t)
{
    return &t->pending[t->pending_first % STEP_PENDING];
}

static void give_up(struct step_thread *t, struct step_pending *p)
{
    /* Nothing came of the transfer: the plain chain is the truth then. */
    if (p->transit && p->verdict == STEP_WRONG) {
        int differs;
        p->verdict = (uint8_t)step_truth_compare(t->strand, &p->start, &p->walk, step_area->options.depth, &differs);
        if (p->verdict == STEP_WRONG) {
            __atomic_fetch_add(&step_area->untold, 1, __ATOMIC_RELAXED);
            return;
        }
    }
    step_record(t, p);
}

void step_judge_pending(struct step_thread *t, bool all)
{
    while (t->pending_n > 0) {
        struct step_pending *p = oldest(t);
        uint64_t age = t->step - p->step;
        if (!all && age <= (p->transit ? TRANSIT_AGE : STEP_PENDING_AGE))
            return;
        give_up(t, p);
        t->pending_first++;
        t->pending_n--;
    }
}

static struct step_pending *add_pending(struct step_thread *t)
{
    if (t->pending_n == STEP_PENDING) {
        give_up(t, oldest(t));
        t->pending_first++;
        t->pending_n--;
    }
    return &t->pending[(t->pending_first + t->pending_n++) % STEP_PENDING];
}

static void copy_walk(struct step_walk *to, const struct step_walk *from)
{
    step_copy(to, from, offsetof(struct step_walk, frames) + from->n * sizeof from->frames[0]);
}

static bool started_right(const struct step_thread *t, const struct step_pending *p)
{
    int differs;
    enum step_verdict v = step_truth_compare(t->strand, &p->start, &p->walk, step_area->options.depth, &differs);
    return v == STEP_RIGHT || v == STEP_FULL;
}

void step_judge_transfer(struct step_thread *t, bool transferred, uintptr_t pc, uintptr_t sp)
{
    for (; t->pending_n > 0; t->pending_first++, t->pending_n--) {
        struct step_pending *p = oldest(t);
        struct step_start start = p->start;
        start.transferred = transferred;
        start.to_pc = pc;
        start.to_sp = sp;
        int differs;
        enum step_verdict v = step_truth_compare(t->strand, &start, &p->walk, step_area->options.depth, &differs);
        if (p->transit) {
            /* swapcontext to a context that never ran: SP is on its stack, which holds only makecontext's own entry. */
            if (v == STEP_WRONG && t->strand->open && t->strand->n == 0 && started_right(t, p))
                v = STEP_TARGET;
            p->verdict = (uint8_t)v;
            p->differs = differs;
            p->start = start;
            p->truth_n = step_truth_frames(t->strand, &start, p->truth, STEP_SHOWN);
        } else if (v == STEP_RIGHT || v == STEP_FULL) {
            p->verdict = STEP_TARGET;
        } else if (v == STEP_MARKED) {
            p->verdict = STEP_MARKED;
        }
        step_record(t, p);
    }
}

static void count(enum step_walker walker, enum step_verdict verdict, bool sampled)
{
    struct step_tally *tally = &step_area->tally[walker];
    __atomic_fetch_add(&tally->all[verdict], 1, __ATOMIC_RELAXED);
    if (sampled)
        __atomic_fetch_add(&tally->sampled[verdict], 1, __ATOMIC_RELAXED);
}

/* False where this walker is not to be had; *fault where it faulted. */
__attribute__((noinline)) static bool guarded_walk(struct step_thread *t, enum step_walker walker,
                                                   const ucontext_t *context, bool *fault)
{
    bool had = true;
    *fault = false;
    t->walk.n = 0;
    if (__builtin_setjmp(t->recovery) == 0) {
        t->walking = true;
        had = step_walk_by(walker, context, step_area->options.depth, &t->walk);
    } else {
        *fault = true;
    }
    t->walking = false;
    return had;
}

static void judge_one(struct step_thread *t, enum step_walker walker, const ucontext_t *context, bool sampled)
{
    bool fault;
    errno = ERRNO_MARK;
    if (!guarded_walk(t, walker, context, &fault))
        return;
    if (errno != ERRNO_MARK && (walker == STEP_SPWALK || walker == STEP_THROUGH))
        __atomic_fetch_add(&step_area->errno_changed, 1, __ATOMIC_RELAXED);

    struct step_start start = {t->pc, t->sp, false, 0, 0};
    enum step_verdict v = STEP_FAULT;
    int differs = -1;
    if (!fault)
        v = step_truth_compare(t->strand, &start, &t->walk, step_area->options.depth, &differs);
    if (!t->transit && (v == STEP_RIGHT || v == STEP_FULL)) {
        count(walker, v, sampled);
        return;
    }
    struct step_pending *p = add_pending(t);
    p->step = t->step;
    p->walker = (uint8_t)walker;
    p->verdict = (uint8_t)(t->transit && !fault ? STEP_WRONG : v);
    p->sampled = sampled;
    p->transit = t->transit && !fault;
    p->differs = differs;
    p->start = start;
    p->code_size = (uint8_t)(t->code_size < STEP_CODE ? t->code_size : STEP_CODE);
    step_copy(p->code, t->code, p->code_size);
    p->truth_n = step_truth_frames(t->strand, &start, p->truth, STEP_SHOWN);
    copy_walk(&p->walk, &t->walk);
    if (fault)
        p->walk.n = 0;
}

/* The four functions are one walk. */
static void check_backtrace(struct step_thread *t, const ucontext_t *context)
{
    bool fault;
    if (!guarded_walk(t, STEP_SPWALK, context, &fault) || fault)
        return;
    void *pcs[STEP_DEPTH_MAX];
    int n = sp_backtrace_context(context, pcs, (int)step_area->options.depth);
    bool same = n == (int)t->walk.n;
    for (int i = 0; same && i < n; i++)
        same = (uintptr_t)pcs[i] == t->walk.frames[i].pc;
    if (!same)
        __atomic_fetch_add(&step_area->disagreements, 1, __ATOMIC_RELAXED);
}

void step_judge(struct step_thread *t, const ucontext_t *context)
{
    const struct step_options *o = &step_area->options;
    if (t->step % o->every != 0)
        return;
    if (t->strand->lost) {
        __atomic_fetch_add(&step_area->untold, 1, __ATOMIC_RELAXED);
        return;
    }
    int saved = errno;
    bool sampled = o->peers != 0 && t->compared % o->peers == 0;
    judge_one(t, STEP_SPWALK, context, sampled);
    if (o->through != 0 && t->compared % o->through == 0) {
        judge_one(t, STEP_THROUGH, context, sampled);
        check_backtrace(t, context);
    }
    if (sampled) {
        judge_one(t, STEP_LIBUNWIND, context, true);
        judge_one(t, STEP_GLIBC, context, true);
    }
    t->compared++;
    errno = saved;
}
