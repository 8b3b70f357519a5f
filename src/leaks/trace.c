/* SPDX-License-Identifier: MIT */
#include "leaks/trace.h"

#include "leaks/own.h"

#include <stdbool.h>

enum { HEADS = 1 << 20, CHUNK_UNITS = 1 << LEAKS_TRACE_UNIT_SHIFT };

static uint32_t heads[HEADS];
static uint64_t *chunks[LEAKS_TRACE_CHUNKS];
static uint32_t next_unit = 2; /* number 0 is no trace */
static uint32_t closes;
static uint64_t count, lost;

/* The products do not depend on each other, so that they are computed side by side. */
static uint32_t hash_of(void *const *pcs, unsigned depth, uint32_t seed)
{
    uint64_t sum = seed * UINT64_C(0x9e3779b97f4a7c15) + depth;
    unsigned i = 0;
    for (; i + 1 < depth; i += 2) {
        uint64_t a = (uint64_t)pcs[i] + i * UINT64_C(0xd6e8feb86659fd93) + UINT64_C(0xa0761d6478bd642f);
        uint64_t b = (uint64_t)pcs[i + 1] + i * UINT64_C(0xe7037ed1a0b428db) + UINT64_C(0x8ebc6af09c88c6e3);
        sum += (a ^ a >> 29) * (b | UINT64_C(1) << 63 | 1);
        sum ^= b * UINT64_C(0x589965cc75374cc3);
    }
    if (i < depth)
        sum += ((uint64_t)pcs[i] + i) * UINT64_C(0x1d8e4e27c47d124f);
    sum ^= sum >> 32;
    sum *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(sum >> 32);
}

struct leaks_trace *leaks_trace_get(uint32_t number)
{
    uint64_t *chunk = __atomic_load_n(&chunks[number >> LEAKS_TRACE_UNIT_SHIFT], __ATOMIC_ACQUIRE);
    return (struct leaks_trace *)&chunk[number & (CHUNK_UNITS - 1)];
}

static bool is_same(const struct leaks_trace *trace, void *const *pcs, unsigned depth, uint32_t hash, uint32_t seed)
{
    if (trace->hash != hash || trace->depth != depth || trace->closes != seed)
        return false;
    uint64_t differ = 0;
    for (unsigned i = 0; i < depth; i++)
        differ |= trace->pcs[i] ^ (uint64_t)pcs[i];
    return differ == 0;
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

static uint32_t search(uint32_t from, uint32_t until, void *const *pcs, unsigned depth, uint32_t hash, uint32_t seed)
{
    while (from != until) {
        const struct leaks_trace *trace = leaks_trace_get(from);
        if (is_same(trace, pcs, depth, hash, seed))
            return from;
        from = trace->next;
    }
    return 0;
}

uint32_t leaks_trace_intern(void *const *pcs, unsigned depth, unsigned is_cut)
{
    uint32_t seed = __atomic_load_n(&closes, __ATOMIC_RELAXED), hash = hash_of(pcs, depth, seed);
    uint32_t *head = &heads[hash & (HEADS - 1)], first = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    uint32_t found = search(first, 0, pcs, depth, hash, seed);
    if (found != 0)
        return found;
    uint32_t number = take_units(sizeof(struct leaks_trace) / sizeof(uint64_t) + depth);
    if (number == 0) {
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
        return 0;
    }
    struct leaks_trace *trace = leaks_trace_get(number);
    trace->hash = hash;
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
        found = search(first, before, pcs, depth, hash, seed);
        if (found != 0)
            return found;
    }
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return number;
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
