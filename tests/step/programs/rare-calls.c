/* SPDX-License-Identifier: MIT */
/*
 * Functions that need their frame everywhere and call on some paths alone, so that the word is stored there; and ones
 * that call none but themselves, whose frames need no alignment.
 */
#include "program.h"

static int table[8];

struct tree {
    struct tree *left, *right;
    int value;
};

static NOINLINE int saves_register(int *p)
{
    p[0]++;
    if (p[1] == 7)
        p[2] += leaf(p[0]);
    p[0] *= 3;
    return p[2];
}

static NOINLINE int has_array(int n)
{
    volatile int values[12];
    values[n & 7] = n;
    if (values[1] == 1)
        values[2] = leaf(n);
    if (values[3] == 3) {
        for (int i = 0; i < 2; i++)
            values[3] += leaf(i);
    }
    return values[n & 7];
}

static NOINLINE int switches(int n)
{
    volatile int copy = n;
    switch (n) {
    case 0:
        return copy + leaf(1);
    case 1:
        return copy * 2;
    case 2:
        return copy * 3 + leaf(2);
    case 3:
        return copy * 5;
    case 4:
        return copy - 7;
    case 5:
        return copy - leaf(3) - 8;
    default:
        return copy;
    }
}

static NOINLINE long visit(const struct tree *tree, long sum)
{
    if (tree == NULL)
        return sum;
    sum = visit(tree->left, sum) + tree->value;
    return visit(tree->right, sum);
}

static NOINLINE int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(void)
{
    struct tree low = {NULL, NULL, 1}, high = {NULL, NULL, 2}, all = {&low, &high, 3};
    int total = 0;
    for (int i = 0; i < 8; i++) {
        fill_stack();
        table[1] = i;
        total += saves_register(table);
        fill_stack();
        total += has_array(i);
        fill_stack();
        total += switches(i);
    }
    fill_stack();
    CHECK(visit(&all, 0) == 6);
    fill_stack();
    CHECK(fibonacci(6) == 8);
    CHECK(total != 0);
    return 0;
}
