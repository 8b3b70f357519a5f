/* SPDX-License-Identifier: MIT */
#include "chain.h"

#include <err.h>
#include <signal.h>
#include <stdlib.h>

static struct chain *running;

/* The outermost frames of a level's match may stand this far below: visitor, handler, signal frame, bottom. */
enum { FRAMES_BELOW_CHAIN_MAX = 8 };

static void on_trap(int number, siginfo_t *info, void *ucontext)
{
    (void)number, (void)info;
    if (running->start == START_CONTEXT)
        running->visitor(running, ucontext);
}

/* Called by the innermost level, directly or by bsearch. */
static void *bottom(const void *argument, const void *unused, uint64_t one, uint64_t size, frame_compare *compare)
{
    struct chain *chain = (struct chain *)argument;
    (void)unused, (void)one, (void)size, (void)compare;
    chain->truth[chain->levels + 1] = __builtin_return_address(0);
    enum start start = chain->start; /* the visitor sets the next one's */
    if (chain->interrupt)
        __asm__ volatile("int3" : : : "memory");
    if (start == START_OWN)
        chain->visitor(chain, NULL);
    __asm__ volatile("");
    return NULL;
}

/* splitmix64 */
static uint64_t random_bits(struct chain *chain)
{
    uint64_t bits = chain->random += UINT64_C(0x9E3779B97F4A7C15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
    return bits ^ (bits >> 31);
}

unsigned chain_random(struct chain *chain, unsigned below)
{
    return (unsigned)(((random_bits(chain) >> 32) * below) >> 32);
}

static frame_function *function_at(unsigned number)
{
    return number < FRAME_FUNCTIONS_A_FILE ? frame_table_0[number] : frame_table_500[number - FRAME_FUNCTIONS_A_FILE];
}

/* Lets a level call the next one, or bsearch that does. */
static void connect(struct chain *chain, int level, frame_function *next)
{
    /* A pointer to the function keeps stdlib.h from putting bsearch's body here. */
    frame_function *volatile through = (frame_function *)(void *)bsearch;
    chain->next[level] = (frame_compare *)(void *)next;
    chain->call[level] = chain->through_libc && level > 0 ? through : next;
}

void chain_pick(struct chain *chain, int keep)
{
    chain->keep = keep;
    for (int level = keep; level <= chain->levels; level++) {
        frame_function *next = bottom;
        if (level < chain->levels)
            next = function_at(chain_random(chain, (unsigned)chain->functions));
        chain->site[level] = chain_random(chain, FRAME_SITES);
        connect(chain, level, next);
    }
}

bool chain_pick_unused(struct chain *chain)
{
    static uint16_t places[FRAME_PLACES];
    static int used = -1;
    if (used < 0) {
        for (int i = 0; i < FRAME_PLACES; i++)
            places[i] = (uint16_t)i;
        used = 0;
    }
    if (chain->levels > FRAME_PLACES - used)
        return false;
    chain->keep = 0;
    for (int level = 1; level <= chain->levels; level++) {
        unsigned drawn = (unsigned)used + chain_random(chain, (unsigned)(FRAME_PLACES - used));
        unsigned place = places[drawn];
        places[drawn] = places[used++];
        chain->site[level] = place % FRAME_SITES;
        connect(chain, level - 1, function_at(place / FRAME_SITES));
    }
    connect(chain, chain->levels, bottom);
    return true;
}

void chain_run(struct chain *chain, chain_visitor *visitor)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    if (chain->interrupt && sigaction(SIGTRAP, &action, NULL) != 0)
        err(1, "sigaction");
    running = chain;
    chain->visitor = visitor;
    chain->level = 0;
    chain->call[0](chain, chain, 1, 1, chain->next[0]);
    __asm__ volatile("");
}

bool chain_matches(const struct chain *chain, void *const *pcs, int count)
{
    /* Between two levels that call through bsearch there is one frame of libc. */
    int step = chain->through_libc ? 2 : 1;
    int from = 0;
    while (from < count && from <= FRAMES_BELOW_CHAIN_MAX && pcs[from] != chain->truth[chain->levels + 1])
        from++;
    for (int level = chain->levels + 1; level >= 1; level--, from += step)
        if (from >= count || pcs[from] != chain->truth[level])
            return false;
    return true;
}
