/* SPDX-License-Identifier: MIT */
#include "leaks/trace.h"

#include "leaks/own.h"

#include <stdbool.h>

enum { CHUNK_UNITS = 1 << LEAKS_TRACE_UNIT_SHIFT, LEVELS = 3 };

/*
 * The heads of the chains are in tables that are used one after the other: a program with few stacks touches few pages.
 * A trace stays in the table that was the last when it was made; a search begins in the first.
 */
static uint32_t small[1 << 12], medium[1 << 16], large[1 << 20];
static uint32_t *const heads[LEVELS] = {small, medium, large};
static const uint32_t masks[LEVELS] = {(1 << 12) - 1, (1 << 16) - 1, (1 << 20) - 1};
static uint32_t level; /* the last one in use */
static uint64_t *chunks[LEAKS_TRACE_CHUNKS];
static uint32_t next_unit = 2; /* number 0 is no trace */
static uint32_t closes;
static uint64_t count, lost;

static uint64_t hash_of(void *const *pcs, unsigned depth, uint32_t seed)
{
    uint64_t a = seed * UINT64_C(0x9e3779b97f4a7c15) + depth, b = UINT64_C(0x8ebc6af09c88c6e3);
    unsigned i = 0;
    /* Two chains of multiplications, side by side. */
    for (; i + 1 < depth; i += 2) {
        a = (a ^ (uint64_t)pcs[i]) * UINT64_C(0xd6e8feb86659fd93);
        b = (b ^ (uint64_t)pcs[i + 1]) * UINT64_C(0xa0761d6478bd642f);
        a ^= a >> 32;
        b ^= b >> 32;
    }
    if (i < depth)
        a = (a ^ (uint64_t)pcs[i]) * UINT64_C(0xd6e8feb86659fd93);
    a = (a ^ (b << 23 | b >> 41)) * UINT64_C(0xe7037ed1a0b428db);
    return a ^ a >> 32;
}

struct leaks_trace *leaks_trace_get(uint32_t number)
{
    uint64_t *chunk = __atomic_load_n(&chunks[number >> LEAKS_TRACE_UNIT_SHIFT], __ATOMIC_ACQUIRE);
    return (struct leaks_trace *)&chunk[number & (CHUNK_UNITS - 1)];
}

bool leaks_trace_is_known(uint32_t number)
{
    enum { HEADER = sizeof(struct leaks_trace) / sizeof(uint64_t) };
    const uint32_t unit = number & (CHUNK_UNITS - 1);
    if (number < 2 || number >= __atomic_load_n(&next_unit, __ATOMIC_RELAXED) || unit + HEADER > CHUNK_UNITS ||
        __atomic_load_n(&chunks[number >> LEAKS_TRACE_UNIT_SHIFT], __ATOMIC_ACQUIRE) == NULL)
        return false;
    const struct leaks_trace *trace = leaks_trace_get(number);
    return trace->depth <= LEAKS_FRAMES_MAX && unit + HEADER + trace->depth <= CHUNK_UNITS &&
           trace->hash == (uint32_t)(hash_of((void *const *)trace->pcs, trace->depth, trace->closes) >> 32);
}

static inline bool is_same(const struct leaks_trace *trace, void *const *pcs, unsigned depth, uint32_t hash,
                           uint32_t seed)
{
    if (trace->hash != hash || trace->depth != depth || trace->closes != seed)
        return false;
    for (unsigned i = 0; i < depth; i++)
        if (trace->pcs[i] != (uint64_t)pcs[i])
            return false;
    return true;
}

/* Room for a trace; 0 where there is none. */
static uint32_t take_units(unsigned units)
{
    uint32_t first = __atomic_load_n(&next_unit, __ATOMIC_RELAXED), start;
    do {
        start = first;
        if ((start & (CHUNK_UNITS - 1)) + units > CHUNK_UNITS)
            start = (start | (CHUNK_UNITS - 1)) + 1;
        if (start < first || start > UINT32_MAX - units)
            return 0;
    } while (!__atomic_compare_exchange_n(&next_unit, &first, start + units, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));

    uint64_t **place = &chunks[start >> LEAKS_TRACE_UNIT_SHIFT], *expected = NULL;
    if (__atomic_load_n(place, __ATOMIC_ACQUIRE) == NULL) {
        uint64_t *chunk = leaks_own_map(sizeof(uint64_t) * CHUNK_UNITS);
        if (chunk != NULL)
            __atomic_compare_exchange_n(place, &expected, chunk, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(place, __ATOMIC_ACQUIRE) == NULL)
            return 0;
    }
    return start;
}

static inline uint32_t search(uint32_t from, uint32_t until, void *const *pcs, unsigned depth, uint32_t hash,
                              uint32_t seed)
{
    while (from != until) {
        const struct leaks_trace *trace = leaks_trace_get(from);
        if (__builtin_expect(is_same(trace, pcs, depth, hash, seed), 1))
            return from;
        from = trace->next;
    }
    return 0;
}

/* A trace that is not at the head of the first table's chain; it is made where there is none. */
static __attribute__((noinline)) uint32_t find_or_make(void *const *pcs, unsigned depth, unsigned is_cut, uint64_t hash,
                                                       uint32_t seed)
{
    uint32_t last = __atomic_load_n(&level, __ATOMIC_ACQUIRE), first = 0, found;
    uint32_t *head = NULL;
    for (uint32_t i = 0; i <= last; i++) {
        head = &heads[i][hash & masks[i]];
        first = __atomic_load_n(head, __ATOMIC_ACQUIRE);
        found = search(first, 0, pcs, depth, (uint32_t)(hash >> 32), seed);
        if (found != 0)
            return found;
    }
    uint32_t number = take_units(sizeof(struct leaks_trace) / sizeof(uint64_t) + depth);
    if (number == 0) {
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
        return 0;
    }
    struct leaks_trace *trace = leaks_trace_get(number);
    trace->hash = (uint32_t)(hash >> 32);
    trace->depth = (uint16_t)depth;
    trace->is_cut = (uint16_t)is_cut;
    trace->closes = seed;
    for (unsigned i = 0; i < depth; i++)
        trace->pcs[i] = (uint64_t)pcs[i];
    for (;;) {
        trace->next = first;
        uint32_t before = first;
        if (__atomic_compare_exchange_n(head, &first, number, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            break;
        found = search(first, before, pcs, depth, trace->hash, seed);
        if (found != 0)
            return found;
    }
    /* Two threads may make the same trace in two tables just now; a report shows their blocks together all the same. */
    if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) > 2 * (uint64_t)masks[last] && last + 1 < LEVELS)
        __atomic_compare_exchange_n(&level, &last, last + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    return number;
}

uint32_t leaks_trace_intern(void *const *pcs, unsigned depth, unsigned is_cut)
{
    uint32_t seed = __atomic_load_n(&closes, __ATOMIC_RELAXED);
    uint64_t hash = hash_of(pcs, depth, seed);
    uint32_t number = __atomic_load_n(&small[hash & masks[0]], __ATOMIC_ACQUIRE);
    if (number != 0 && is_same(leaks_trace_get(number), pcs, depth, (uint32_t)(hash >> 32), seed))
        return number;
    return find_or_make(pcs, depth, is_cut, hash, seed);
}

void leaks_trace_module_closed(void)
{
    __atomic_fetch_add(&closes, 1, __ATOMIC_RELAXED);
}

uint32_t leaks_trace_closes(void)
{
    return __atomic_load_n(&closes, __ATOMIC_RELAXED);
}

uint64_t leaks_trace_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

uint64_t leaks_trace_lost(void)
{
    return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}
