/* SPDX-License-Identifier: MIT */
#include "oracle.h"

struct chain {
    const struct step_strand *strand;
    const struct step_start *start;
    uint32_t given;   /* frames of the start that were given */
    uint32_t entries; /* entries not yet given */
};

/* A frame's `interrupted` where the walk may say either: longjmp goes to a return address, an exception to an exact pc.
 */
enum { EITHER = 2 };

static bool next(struct chain *c, struct sp_frame *f)
{
    f->size = 0;
    f->rule = SP_RULE_NONE;
    if (c->given == 0) {
        f->pc = c->start->pc;
        f->sp = c->start->sp;
        f->interrupted = 1;
        c->given = 1;
        return true;
    }
    if (c->given == 1 && c->start->transferred) {
        f->pc = c->start->to_pc;
        f->sp = c->start->to_sp;
        f->interrupted = EITHER;
        c->given = 2;
        return true;
    }
    while (c->entries == 0) {
        if (c->strand->below == NULL)
            return false;
        c->strand = c->strand->below;
        c->entries = c->strand->n;
    }
    const struct step_entry *e = &c->strand->entries[--c->entries];
    f->pc = e->pc;
    f->sp = e->kind == STEP_CALL ? e->at + 8 : e->at;
    f->interrupted = e->kind == STEP_SIGNAL;
    return true;
}

static bool is_entry_frame(const struct step_strand *s, const struct step_walk *w, const struct sp_frame *f)
{
    return s->open && f->pc == s->entry_pc && (!w->has_sp || f->sp == s->entry_at + 8);
}

/* A size has 32 bits, and a jump to another stack is further than that. */
static bool sizes_agree(const struct sp_frame *f)
{
    if (f[1].sp - f[0].sp > UINT32_MAX)
        return true;
    return f[0].size == f[1].sp - f[0].sp || (f[0].size == 0 && f[1].interrupted);
}

static bool is_same(const struct step_walk *w, const struct sp_frame *f, const struct sp_frame *truth)
{
    if (f->pc != truth->pc || (w->has_sp && f->sp != truth->sp))
        return false;
    return !w->has_kind || truth->interrupted == EITHER || (f->interrupted != 0) == (truth->interrupted != 0);
}

enum step_verdict step_truth_compare(const struct step_strand *strand, const struct step_start *start,
                                     const struct step_walk *walk, uint32_t limit, int *differs)
{
    struct chain c = {strand, start, 0, strand->n};
    struct sp_frame truth;
    bool entry_given = false;
    for (uint32_t i = 0; i < walk->n; i++) {
        const struct sp_frame *f = &walk->frames[i];
        *differs = (int)i;
        if (!next(&c, &truth)) {
            if (entry_given || !is_entry_frame(strand, walk, f))
                return STEP_WRONG;
            entry_given = true;
            continue;
        }
        if (!is_same(walk, f, &truth))
            return STEP_WRONG;
        if (walk->has_kind && i + 1 < walk->n && !sizes_agree(f))
            return STEP_WRONG;
    }
    *differs = -1;
    bool whole = !next(&c, &truth);
    if (walk->has_end) {
        if (walk->end == SP_END_OUTERMOST)
            return whole ? STEP_RIGHT : STEP_WRONG;
        if (walk->end == SP_END_FULL && walk->n == limit)
            return STEP_FULL;
        return walk->n == 0 ? STEP_WRONG : STEP_MARKED;
    }
    return whole ? STEP_RIGHT : walk->n >= limit ? STEP_FULL : STEP_WRONG;
}

uint32_t step_truth_frames(const struct step_strand *strand, const struct step_start *start, struct sp_frame *frames,
                           uint32_t max)
{
    struct chain c = {strand, start, 0, strand->n};
    struct sp_frame f;
    uint32_t n = 0;
    while (next(&c, &f)) {
        if (n < max)
            frames[n] = f;
        n++;
    }
    return n;
}
