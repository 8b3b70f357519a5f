/* SPDX-License-Identifier: MIT */
#include "history.h"

#include <stdlib.h>
#include <string.h>

enum { ADDRESSES_MAX = 1 << 20 };

static void *noted[ADDRESSES_MAX];
static int count, counted_from, levels;

void history_clear(void)
{
    count = counted_from = 0;
}

void history_count(void)
{
    counted_from = count;
}

void history_add(const struct chain *chain)
{
    levels = chain->levels;
    if (count + levels > ADDRESSES_MAX)
        return;
    /* Level 1 returns to chain_run: the address of level n + 1 is the place that level n calls from. */
    memcpy(noted + count, chain->truth + 2, (size_t)levels * sizeof *noted);
    count += levels;
}

struct address {
    void *pc;
    int index;
};

static int compare(const void *left, const void *right)
{
    const struct address *a = left, *b = right;
    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    return a->index - b->index;
}

struct history history_of_stacks(void)
{
    static struct address sorted[ADDRESSES_MAX];
    int same = 0, fresh = 0, first = counted_from > levels ? counted_from : levels;
    if (first >= count)
        return (struct history){0, 0};
    for (int i = first; i < count; i++)
        same += noted[i] == noted[i - levels];
    for (int i = 0; i < count; i++)
        sorted[i] = (struct address){noted[i], i};
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (int i = 0; i < count; i++)
        fresh += sorted[i].index >= first && (i == 0 || sorted[i].pc != sorted[i - 1].pc);
    return (struct history){(double)same / (count - first), (double)fresh / (count - first)};
}
