/* SPDX-License-Identifier: MIT */
/*
 * The stacks at which blocks were allocated, one copy of each, in a hash table of chains that only grows.
 *
 * A trace is put at the head of its chain by one compare-and-swap when it is complete; its stack never changes or
 * moves. So looking one up takes no lock, and a snapshot can be taken at any time.
 */
#ifndef SPWALK_LEAKS_TRACE_H
#define SPWALK_LEAKS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LEAKS_FRAMES_MAX = 256,
    LEAKS_TRACE_UNIT_SHIFT = 17, /* a trace's number: its chunk's, then its place in it in units of 8 bytes */
    LEAKS_TRACE_CHUNKS = 1 << 15,
};

struct leaks_trace {
    uint32_t next; /* in the chain; 0: none */
    uint32_t hash;
    uint16_t depth;
    uint16_t is_cut; /* 1: the stack may go on */
    uint32_t closes; /* how often modules were closed before: the same address may have been another function's then */
    uint32_t report; /* the last report it went into */
    uint32_t dumped; /* how many blocks of it had their content in that report */
    uint64_t pcs[];  /* return addresses, innermost first */
};

/*
 * The number of the trace with these pcs, made where there is none yet; 0 where memory is short. depth is at most
 * LEAKS_FRAMES_MAX.
 */
uint32_t leaks_trace_intern(void *const *pcs, unsigned depth, unsigned is_cut);

/* The trace of a number that leaks_trace_intern returned, but 0. */
struct leaks_trace *leaks_trace_get(uint32_t number);

/* Whether a number that may be any is that of a trace. */
bool leaks_trace_is_known(uint32_t number);

/* To be called when a module was unloaded. */
void leaks_trace_module_closed(void);
uint32_t leaks_trace_closes(void);

/* How many distinct traces there are, and how many could not be kept. */
uint64_t leaks_trace_count(void);
uint64_t leaks_trace_lost(void);

#endif
