/* SPDX-License-Identifier: MIT */
/* The walkers, under one interface. */
#include "oracle.h"
#include "peers.h"

#define HANDLER_FRAMES 16 /* of the trap's handler, at most */

static int (*walk)(const void *, struct sp_frame *, int, enum sp_end *) = sp_walk;

void step_walkers_setup(void)
{
    step_peers_setup();
    if (step_area->options.own_walker) {
        void *own = step_peers_symbol("sp_walk");
        if (own != NULL)
            walk = (int (*)(const void *, struct sp_frame *, int, enum sp_end *))own;
    }
}

static void by_spwalk(const ucontext_t *context, uint32_t limit, struct step_walk *out)
{
    enum sp_end end = SP_END_FULL;
    int n = walk(context, out->frames, (int)limit, &end);
    out->n = n < 0 ? 0 : (uint32_t)n;
    out->end = (int32_t)end;
}

/* What comes after the trap's own signal frame is what the context walk gives. */
static void through_handler(uint32_t limit, struct step_walk *out)
{
    struct sp_frame frames[STEP_DEPTH_MAX + HANDLER_FRAMES];
    enum sp_end end = SP_END_FULL;
    int n = walk(NULL, frames, STEP_DEPTH_MAX + HANDLER_FRAMES, &end);
    int i = 0;
    while (i < n && frames[i].rule != SP_RULE_SIGNAL)
        i++;
    out->n = 0;
    out->end = (int32_t)end;
    for (i++; i < n; i++) {
        if (out->n == limit) {
            out->end = SP_END_FULL;
            break;
        }
        out->frames[out->n++] = frames[i];
    }
}

bool step_walk_by(enum step_walker walker, const ucontext_t *context, uint32_t limit, struct step_walk *out)
{
    out->n = 0;
    out->has_sp = true;
    out->has_end = true;
    out->has_kind = false;
    switch (walker) {
    case STEP_SPWALK:
        out->has_kind = true;
        by_spwalk(context, limit, out);
        return true;
    case STEP_THROUGH:
        out->has_kind = true;
        through_handler(limit, out);
        return true;
    case STEP_LIBUNWIND:
        return step_peers_libunwind(context, limit, out);
    case STEP_GLIBC:
        return step_peers_glibc(limit, out);
    default:
        return false;
    }
}
