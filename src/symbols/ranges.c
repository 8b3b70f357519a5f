/* SPDX-License-Identifier: MIT */
#include "ranges.h"

#include <stdlib.h>

static int by_start(const void *left, const void *right)
{
    const struct sp_range *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->item > b->item ? -1 : a->item < b->item;
}

struct sweep {
    struct sp_range *out;
    size_t count;
    const struct sp_range **open; /* begun and not yet seen to end, by rank; the last one owns the current address */
    size_t depth;
    uint64_t at; /* everything below is written */
};

static void write_up_to(struct sweep *sweep, uint64_t limit)
{
    while (sweep->depth > 0 && sweep->at < limit) {
        const struct sp_range *top = sweep->open[sweep->depth - 1];
        uint64_t end = top->end < limit ? top->end : limit;
        if (end > sweep->at) {
            sweep->out[sweep->count++] = (struct sp_range){sweep->at, end, top->item, top->rank};
            sweep->at = end;
        }
        if (top->end <= sweep->at)
            sweep->depth--;
    }
    sweep->at = limit;
}

/* Ranges come by start, so that among equal ranks the new one is the last. */
static void begin(struct sweep *sweep, const struct sp_range *range)
{
    size_t at = sweep->depth++;
    for (; at > 0 && sweep->open[at - 1]->rank > range->rank; at--)
        sweep->open[at] = sweep->open[at - 1];
    sweep->open[at] = range;
}

int sp_ranges_flatten(struct sp_range *ranges, size_t count, struct sp_ranges *result)
{
    *result = (struct sp_ranges){0};
    if (count == 0)
        return 0;
    qsort(ranges, count, sizeof *ranges, by_start);
    /* A piece begins where a range begins or ends. */
    struct sweep sweep = {
        .out = calloc(2 * count, sizeof *sweep.out),
        .open = calloc(count, sizeof *sweep.open),
    };
    if (sweep.out == NULL || sweep.open == NULL) {
        free(sweep.out);
        free(sweep.open);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].end <= ranges[i].start)
            continue;
        write_up_to(&sweep, ranges[i].start);
        begin(&sweep, &ranges[i]);
    }
    write_up_to(&sweep, UINT64_MAX);
    free(sweep.open);
    result->ranges = sweep.out;
    result->count = sweep.count;
    return 0;
}

const struct sp_range *sp_ranges_find(const struct sp_ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= ranges->ranges[low - 1].end)
        return NULL;
    return &ranges->ranges[low - 1];
}
