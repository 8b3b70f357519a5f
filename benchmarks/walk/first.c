/* SPDX-License-Identifier: MIT */
/*
 * first DEPTH SEED [half] [context]: the time of a process's first walk, by the one walker that is linked in
 * (WALKER), and of its second walk on the same stack: "first second frames", in nanoseconds.
 */
#include "chain.h"
#include "clock.h"
#include "walker.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_BESIDE_CHAIN = 6, PCS_MAX = 1024 };

static const struct walker *const walker = &WALKER;
static void *pcs[PCS_MAX];
static uint64_t ticks[2];
static int frames;

static void visit(struct chain *chain, const void *ucontext)
{
    for (int walk = 0; walk < 2; walk++) {
        uint64_t begin = clock_begin();
        frames = walker->walk(ucontext, pcs, PCS_MAX);
        ticks[walk] = clock_end() - begin;
    }
    if (walker->result)
        walker->result(pcs, frames);
    if (!chain_matches(chain, pcs, frames))
        errx(1, "%s: wrong answer", walker->name);
    chain_pick(chain, 0);
}

int main(int argc, char **argv)
{
    static struct chain chain;
    if (argc < 3)
        errx(2, "usage: first DEPTH SEED [half] [context]");
    int levels = atoi(argv[1]) - FRAMES_BESIDE_CHAIN;
    if (levels < 1 || levels > CHAIN_LEVELS_MAX)
        errx(2, "DEPTH is to be from %d to %d, not '%s'", FRAMES_BESIDE_CHAIN + 1, CHAIN_LEVELS_MAX, argv[1]);
    chain.random = strtoul(argv[2], NULL, 10);
    for (int i = 3; i < argc; i++) {
        chain.through_libc |= strcmp(argv[i], "half") == 0;
        chain.interrupt |= strcmp(argv[i], "context") == 0;
    }
    chain.start = chain.interrupt ? START_CONTEXT : START_OWN;
    chain.levels = chain.through_libc ? (levels + 1) / 2 : levels;
    chain.functions = FRAME_FUNCTIONS;
    double period = clock_period();
    if (walker->load)
        walker->load();
    chain_pick(&chain, 0);
    chain_run(&chain, visit);
    printf("%.0f %.0f %d\n", (double)ticks[0] * period, (double)ticks[1] * period, frames);
    return 0;
}
