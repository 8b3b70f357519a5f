/* SPDX-License-Identifier: MIT */
/* Through libc and back: qsort, bsearch, tsearch, atexit, with callbacks that keep values in all callee-saved
 * registers. */
/* search.h has an enumerator of this name. */
#define leaf search_leaf
#include <search.h>
#undef leaf

#include "program.h"

#include <stdio.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return leaf(x) - leaf(y);
}

static NOINLINE int inner_sort(int n)
{
    int v[16];
    for (int i = 0; i < 16; i++)
        v[i] = (i * 7 + n) % 16;
    qsort(v, 16, sizeof v[0], compare);
    int key = 5;
    int *found = bsearch(&key, v, 16, sizeof v[0], compare);
    return found != NULL ? *found : 0;
}

/* A sort within a sort. */
static int compare_deep(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    int z = leaf(x), w = leaf(y), u = leaf(z), t = leaf(w);
    if (x == 3 && y == 1)
        u += inner_sort(x);
    return x - y + 0 * (z + w + u + t);
}

static void *root;

static void visit(const void *node, VISIT which, int depth)
{
    if (which == postorder || which == 3 /* a leaf */)
        sink = **(int *const *)node + depth;
}

static void last(void)
{
    sink = 1;
}

int main(void)
{
    atexit(last);
    int v[6] = {5, 3, 1, 4, 2, 0};
    fill_stack();
    qsort(v, 6, sizeof v[0], compare_deep);
    CHECK(v[0] == 0 && v[5] == 5);
    fill_stack();
    for (int i = 0; i < 6; i++)
        CHECK(tsearch(&v[i], &root, compare) != NULL);
    twalk(root, visit);
    for (int i = 0; i < 6; i++)
        tdelete(&v[i], &root, compare);
    return 0;
}
