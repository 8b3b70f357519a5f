/* SPDX-License-Identifier: MIT */
/*
 * Stacks to measure on: a chain of calls through functions picked at random.
 *
 * Level 1 is the outermost frame of the chain, level `levels` the innermost; that one calls the bottom, where the
 * visitor runs. Each level's function and the place it calls from are picked before it is called. When the bottom
 * returns, the frames of the levels above `keep` return too, and what is left builds new ones: so a chain's inner
 * frames change while its outer ones stay, and with keep 0 all of it is new.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <stdbool.h>
#include <stdint.h>

enum { CHAIN_LEVELS_MAX = 512 };

/* The generated functions, in two files of 500; each calls from 50 places: 50,000 distinct return addresses. */
enum { FRAME_FUNCTIONS_A_FILE = 500, FRAME_FUNCTIONS = 1000, FRAME_SITES = 50, FRAME_PLACES = 50000 };

/*
 * The arguments are bsearch's, so that a level can call the next one or bsearch with the same instruction. bsearch
 * calls back with the first two alone; a function uses no other.
 */
typedef int frame_compare(const void *chain, const void *unused);
typedef void *frame_function(const void *chain, const void *unused, uint64_t one, uint64_t size, frame_compare *next);

extern frame_function *const frame_table_0[];
extern frame_function *const frame_table_500[];

struct chain;

/* Where a walk starts: at its caller, or at the ucontext of a signal's handler. */
enum start { START_OWN, START_CONTEXT, STARTS };

/* Runs below the innermost frame. ucontext: where the bottom was interrupted, or NULL where it called. */
typedef void chain_visitor(struct chain *chain, const void *ucontext);

struct chain {
    int level;                                  /* of the frame that runs */
    int keep;                                   /* frames of the levels above this one return */
    unsigned site[CHAIN_LEVELS_MAX + 1];        /* the place where a level calls from */
    frame_function *call[CHAIN_LEVELS_MAX + 1]; /* what a level calls: the next level's function, or bsearch */
    frame_compare *next[CHAIN_LEVELS_MAX + 1];  /* the next level's function */
    void *truth[CHAIN_LEVELS_MAX + 2];          /* a level's return address, as its function itself knows it */
    long noise[4];                              /* values that the functions hold in registers across their calls */

    int levels;        /* of the innermost frame */
    int functions;     /* how many of the generated functions are picked from, at most FRAME_FUNCTIONS */
    bool through_libc; /* every level calls the next one through bsearch */
    bool interrupt;    /* a signal interrupts the bottom, whichever the start: its cost is no walker's */
    enum start start;  /* the visitor is called by the bottom, or by that signal's handler */
    uint64_t random;   /* state of the generator */
    chain_visitor *visitor;
};

/*
 * Builds stacks and calls the visitor on each, until it leaves keep 0. chain_pick must have been called before, and the
 * visitor calls it for each next stack (or sets keep to levels to stay on this one). One chain runs at a time.
 */
void chain_run(struct chain *chain, chain_visitor *visitor);

/* Picks new levels above keep. With 0 all frames return, and with them chain_run, which can then be called again. */
void chain_pick(struct chain *chain, int keep);

/*
 * The same with keep 0, but of the places to call from each is used once in the process's life: no walker can have seen
 * any of the stack's return addresses. Returns false where too few are left; then the stack is as it was.
 */
bool chain_pick_unused(struct chain *chain);

/* A number that is uniform in [0, below). */
unsigned chain_random(struct chain *chain, unsigned below);

/*
 * Whether a walk's return addresses are right: from the bottom's caller to the outermost level they are the chain's
 * own. Addresses before (the visitor, the bottom) and after (what called chain_run) are not looked at.
 */
bool chain_matches(const struct chain *chain, void *const *pcs, int count);

#endif
