/* SPDX-License-Identifier: MIT */
/* Functions that need their frame everywhere and call on some paths alone, so that the word is stored there. */
#include "program.h"

static int table[8];

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

int main(void)
{
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
    CHECK(total != 0);
    return 0;
}
