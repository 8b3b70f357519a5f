/* SPDX-License-Identifier: MIT */
#include "strand.h"

#include "raw.h"

#define STRANDS 512

static struct step_strand strands[STRANDS];

struct step_strand *step_strand_new(struct step_region region)
{
    for (uint32_t i = 0; i < STRANDS; i++) {
        struct step_strand *s = &strands[i];
        uint32_t free = 0;
        if (!__atomic_compare_exchange_n(&s->used, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        if (s->entries == NULL)
            s->entries = step_map(STEP_ENTRIES * sizeof(struct step_entry));
        if (s->entries == NULL) {
            __atomic_store_n(&s->used, 0, __ATOMIC_RELEASE);
            return NULL;
        }
        s->segment[0] = (struct step_segment){region, 0};
        s->open = false;
        step_strand_reset(s);
        return s;
    }
    return NULL;
}

void step_strand_reset(struct step_strand *strand)
{
    strand->n = 0;
    strand->segments = 1;
    strand->lost = false;
    strand->entry_at = 0;
    strand->entry_pc = 0;
    strand->below = NULL;
}

void step_strand_free(struct step_strand *strand)
{
    strand->segment[0].region = (struct step_region){0, 0};
    strand->segments = 1;
    __atomic_store_n(&strand->used, 0, __ATOMIC_RELEASE);
}

struct step_strand *step_strand_copy(const struct step_strand *strand)
{
    struct step_strand *copy = step_strand_new(strand->segment[0].region);
    if (copy == NULL)
        return NULL;
    struct step_entry *entries = copy->entries;
    step_copy(entries, strand->entries, strand->n * sizeof *entries);
    *copy = *strand;
    copy->entries = entries;
    return copy;
}

struct step_strand *step_strand_find(struct step_region region)
{
    for (uint32_t i = 0; i < STRANDS; i++) {
        struct step_strand *s = &strands[i];
        if (!__atomic_load_n(&s->used, __ATOMIC_ACQUIRE))
            continue;
        for (uint32_t j = 0; j < s->segments; j++)
            if (s->segment[j].region.high == region.high)
                return s;
    }
    return NULL;
}

static void push(struct step_strand *strand, struct step_entry entry)
{
    if (strand->n == STEP_ENTRIES)
        strand->lost = true;
    else
        strand->entries[strand->n++] = entry;
}

void step_strand_call(struct step_strand *strand, uintptr_t at, uintptr_t return_address)
{
    push(strand, (struct step_entry){at, return_address, STEP_CALL});
}

void step_strand_signal(struct step_strand *strand, uintptr_t pc, uintptr_t sp, uintptr_t handler_sp,
                        struct step_region handler_region)
{
    push(strand, (struct step_entry){sp, pc, STEP_SIGNAL});
    if (step_region_has_sp(step_strand_top(strand)->region, handler_sp))
        return;
    if (strand->segments == STEP_SEGMENTS)
        strand->lost = true;
    else
        strand->segment[strand->segments++] = (struct step_segment){handler_region, strand->n};
}

static void leave_segments(struct step_strand *strand)
{
    while (strand->segments > 1 && strand->n < step_strand_top(strand)->first)
        strand->segments--;
}

void step_strand_return_from_signal(struct step_strand *strand)
{
    while (strand->n > 0)
        if (strand->entries[--strand->n].kind == STEP_SIGNAL)
            break;
    leave_segments(strand);
}

bool step_strand_leave_to(struct step_strand *strand, uintptr_t sp)
{
    for (uint32_t i = strand->segments; i-- > 0;) {
        if (!step_region_has_sp(strand->segment[i].region, sp))
            continue;
        if (i + 1 < strand->segments) {
            strand->n = strand->segment[i + 1].first;
            strand->segments = i + 1;
        }
        return true;
    }
    return false;
}

uint32_t step_strand_pop(struct step_strand *strand, uintptr_t sp, struct step_entry *last)
{
    uint32_t popped = 0;
    uint32_t first = step_strand_top(strand)->first;
    while (strand->n > first) {
        struct step_entry *e = &strand->entries[strand->n - 1];
        /* The interrupted code's SP itself can be where siglongjmp goes; a handler on its stack runs below it. */
        bool passed = e->kind == STEP_CALL ? e->at < sp : e->at <= sp;
        if (!passed)
            break;
        *last = *e;
        strand->n--;
        popped++;
    }
    return popped;
}
