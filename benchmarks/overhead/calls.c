/* SPDX-License-Identifier: MIT */
/*
 * The call-heavy program: hardly anything but calls, of functions that keep little across them. No real program is like
 * this; it bounds what a word, or a frame pointer, can cost.
 */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static int tak(int x, int y, int z)
{
    return y < x ? tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y)) : z;
}

struct tree {
    struct tree *left, *right;
    int value;
};

__attribute__((noinline)) static struct tree *insert(struct tree *tree, int value)
{
    if (!tree) {
        tree = calloc(1, sizeof *tree);
        if (!tree)
            exit(1);
        tree->value = value;
    } else if (value < tree->value) {
        tree->left = insert(tree->left, value);
    } else {
        tree->right = insert(tree->right, value);
    }
    return tree;
}

__attribute__((noinline)) static long visit(const struct tree *tree, long (*each)(long, int), long sum)
{
    if (!tree)
        return sum;
    sum = visit(tree->left, each, sum);
    sum = each(sum, tree->value);
    return visit(tree->right, each, sum);
}

static long add(long sum, int value)
{
    return sum + value;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    struct tree *tree = NULL;
    unsigned value = 1;
    long sum = 0;
    for (int i = 0; i < 20000; i++)
        tree = insert(tree, (int)((value = value * 1103515245 + 12345) >> 8));
    for (int round = 0; round < rounds; round++) {
        sum += fibonacci(27) + (unsigned)tak(18, 12, 6);
        for (int i = 0; i < 20; i++)
            sum += visit(tree, add, 0) % 1000;
    }
    printf("%ld\n", sum);
    return 0;
}
