/* SPDX-License-Identifier: MIT */
#include "experiment.h"

#include "clock.h"

#include <err.h>
#include <math.h>
#include <stddef.h>

enum {
    REPEATED_STACKS = 8, /* STATE_REPEATED: so many stacks share the rounds */
    BATCH_MAX = 256,
    BATCH_TICKS = 40000, /* a batch shall last about so long */
};

/* A round's. Of stacks never seen there are only as many as there are return addresses for. */
static const int stacks_a_round[] = {[STATE_REPEATED] = 1, [STATE_CHANGING] = 64, [STATE_NEVER] = 16};

/*
 * Not counted, before. Where frames change they come from a working set, and what is measured is how it goes once
 * nearly all of it has been walked: each place was drawn three times on average.
 */
static int warm_rounds(const struct experiment *experiment)
{
    if (experiment->state == STATE_NEVER)
        return 2;
    if (experiment->state == STATE_REPEATED)
        return 4;
    double changed = fmin(experiment->mean_depth, experiment->chain.levels);
    return 1 + (int)(3 * experiment->chain.functions * FRAME_SITES / (changed * stacks_a_round[STATE_CHANGING]));
}

/* So that a stack of ten frames is not the harness's own frames alone. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* What the visitor needs from one call to the next. The walkers' last answers are kept for the check. */
static struct {
    struct experiment *experiment;
    double period;
    int round;                               /* negative: not counted */
    int visits[STARTS];                      /* in this round */
    uint64_t ticks[STARTS][WALKERS_MAX + 1]; /* of this round; the last one is the clock alone */
    int order[WALKERS_MAX + 1];
    uint64_t order_random;  /* apart from the chain's own, so that the stacks are the same for any number of walkers */
    bool new_stack[STARTS]; /* STATE_REPEATED: not walked yet */
} run;

static void *pcs[WALKERS_MAX][PCS_MAX];

static bool is_right(const struct chain *chain, const struct walker *walker, void **found, int count)
{
    if (walker->result)
        walker->result(found, count);
    return chain_matches(chain, found, count);
}

/* Who walks first, second ...: a new order of the first `count` for each visit. */
static void shuffle(int count)
{
    for (int i = 0; i < count; i++)
        run.order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        run.order_random = run.order_random * UINT64_C(6364136223846793005) + 1442695040888963407;
        int other = (int)((run.order_random >> 33) % (unsigned)(i + 1));
        int kept = run.order[i];
        run.order[i] = run.order[other];
        run.order[other] = kept;
    }
}

/* The first walks on a stack, not timed: find who can walk it at all, and warm up. */
static void check(struct experiment *experiment, struct samples *samples, const void *ucontext)
{
    for (int i = 0; i < experiment->walker_count; i++) {
        int count = 0;
        for (int repeat = 0; repeat < 3; repeat++)
            count = experiment->walkers[i]->walk(ucontext, pcs[i], PCS_MAX);
        samples[i].frames = count;
        samples[i].batch = 0;
        if (!is_right(&experiment->chain, experiment->walkers[i], pcs[i], count))
            samples[i].wrong = true;
    }
}

ALWAYS_INLINE void visit_repeated(struct experiment *experiment, struct samples *samples, const void *ucontext)
{
    for (int i = 0; i < experiment->walker_count; i++) {
        int which = run.order[i];
        int (*walk)(const void *, void **, int) = experiment->walkers[which]->walk;
        if (samples[which].wrong)
            continue;
        int batch = samples[which].batch;
        if (batch == 0) {
            uint64_t begin = clock_begin();
            walk(ucontext, pcs[which], PCS_MAX);
            double once = (double)(clock_end() - begin);
            batch = once * BATCH_MAX <= BATCH_TICKS ? BATCH_MAX : (int)(BATCH_TICKS / once) + 1;
            samples[which].batch = batch;
        }
        uint64_t begin = clock_begin();
        int count = 0;
        for (int n = 0; n < batch; n++)
            count = walk(ucontext, pcs[which], PCS_MAX);
        uint64_t ticks = clock_end() - begin;
        if (!is_right(&experiment->chain, experiment->walkers[which], pcs[which], count))
            samples[which].wrong = true;
        if (run.round >= 0)
            samples[which].ns[run.round] = (double)ticks * run.period / batch;
    }
}

ALWAYS_INLINE void visit_once(struct experiment *experiment, struct samples *samples, const void *ucontext,
                              uint64_t *ticks)
{
    int counts[WALKERS_MAX];
    int turns = experiment->walker_count + 1;
    for (int i = 0; i < turns; i++) {
        int which = run.order[i];
        if (which == experiment->walker_count) {
            uint64_t begin = clock_begin();
            ticks[which] += clock_end() - begin;
        } else if (!samples[which].wrong) {
            int (*walk)(const void *, void **, int) = experiment->walkers[which]->walk;
            uint64_t begin = clock_begin();
            counts[which] = walk(ucontext, pcs[which], PCS_MAX);
            ticks[which] += clock_end() - begin;
        }
    }
    for (int i = 0; i < experiment->walker_count; i++) {
        if (samples[i].wrong)
            continue;
        samples[i].frames = counts[i];
        samples[i].batch = 1;
        if (!is_right(&experiment->chain, experiment->walkers[i], pcs[i], counts[i]))
            samples[i].wrong = true;
    }
}

/* Takes the sums of a block of stacks into the samples. */
static void end_block(struct experiment *experiment)
{
    for (int start = 0; start < STARTS; start++) {
        for (int i = 0; i < experiment->walker_count && run.visits[start] > 0; i++) {
            double ticks = (double)run.ticks[start][i] - (double)run.ticks[start][experiment->walker_count];
            if (run.round >= 0)
                experiment->samples[start][i].ns[run.round] = ticks * run.period / run.visits[start];
        }
        run.visits[start] = 0;
        for (int i = 0; i <= experiment->walker_count; i++)
            run.ticks[start][i] = 0;
    }
}

/* How many levels change: geometric with the given mean, at least 1, at most all. */
static int depth_of_change(struct experiment *experiment)
{
    double uniform = (chain_random(&experiment->chain, 1u << 30) + 0.5) / (1u << 30);
    double depth = 1 + floor(log(uniform) / log1p(-1 / experiment->mean_depth));
    return depth < experiment->chain.levels ? (int)depth : experiment->chain.levels;
}

static void visit(struct chain *chain, const void *ucontext)
{
    struct experiment *experiment = run.experiment;
    enum start start = chain->start;
    struct samples *samples = experiment->samples[start];

    if (run.new_stack[start])
        check(experiment, samples, ucontext);
    run.new_stack[start] = false;
    run.visits[start]++;
    shuffle(experiment->state == STATE_REPEATED ? experiment->walker_count : experiment->walker_count + 1);
    if (experiment->state == STATE_REPEATED)
        visit_repeated(experiment, samples, ucontext);
    else
        visit_once(experiment, samples, ucontext, run.ticks[start]);
    history_add(chain);

    if (experiment->context)
        chain->start = start == START_OWN ? START_CONTEXT : START_OWN;
    int visits = run.visits[START_OWN] + run.visits[START_CONTEXT];
    int wanted = stacks_a_round[experiment->state];
    bool round_ends = visits == (experiment->context ? 2 * wanted : wanted);
    if (round_ends) {
        if (experiment->state != STATE_REPEATED)
            end_block(experiment);
        run.visits[START_OWN] = run.visits[START_CONTEXT] = 0;
        if (++run.round == 0)
            history_count();
    }

    switch (experiment->state) {
    case STATE_REPEATED: {
        int share = (experiment->rounds + REPEATED_STACKS - 1) / REPEATED_STACKS;
        if (round_ends && (run.round == experiment->rounds || (run.round > 0 && run.round % share == 0))) {
            chain_pick(chain, 0);
            run.new_stack[START_OWN] = run.new_stack[START_CONTEXT] = true;
        } else {
            chain->keep = chain->levels;
        }
        break;
    }
    case STATE_CHANGING:
        chain_pick(chain, run.round == experiment->rounds ? 0 : chain->levels - depth_of_change(experiment));
        break;
    case STATE_NEVER:
        if (!chain_pick_unused(chain)) {
            experiment->rounds = run.round;
            chain->keep = 0;
        }
        break;
    }
}

void experiment_run(struct experiment *experiment)
{
    run.experiment = experiment;
    run.period = clock_period();
    run.round = -warm_rounds(experiment);
    run.visits[START_OWN] = run.visits[START_CONTEXT] = 0;
    run.new_stack[START_OWN] = run.new_stack[START_CONTEXT] = true;
    experiment->chain.interrupt = experiment->context;
    for (int i = 0; i < experiment->walker_count; i++) {
        if (experiment->walkers[i]->load)
            experiment->walkers[i]->load();
        if (experiment->walkers[i]->tune)
            experiment->walkers[i]->tune();
    }
    history_clear();
    if (experiment->state != STATE_NEVER)
        chain_pick(&experiment->chain, 0);
    else if (!chain_pick_unused(&experiment->chain))
        errx(2, "this process has used up the return addresses that no walker has seen");
    while (run.round < experiment->rounds)
        chain_run(&experiment->chain, visit);
    experiment->history = history_of_stacks();
}
