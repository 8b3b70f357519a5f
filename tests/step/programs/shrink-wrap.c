/* SPDX-License-Identifier: MIT */
/* Functions that return early, before their prologue, and functions whose cold part lies elsewhere, entered by a jump.
 */
#include "program.h"

static int table[8];

static NOINLINE int early(int *p, int n)
{
    if (p == NULL)
        return -1;
    if (n == 0)
        return *p;
    int x = leaf(*p), y = leaf(n), z = leaf(x);
    return leaf(x + y + z) + x * y + z;
}

__attribute__((cold)) static NOINLINE void complain(int a, int b)
{
    table[a & 7] += b;
    leaf(b);
}

static NOINLINE int cold_part(int a)
{
    int x = leaf(a);
    if (__builtin_expect(a > 1000, 0)) {
        complain(a, x);
        complain(x, a);
        x += leaf(a) * leaf(x);
    }
    return x + leaf(a + 1);
}

static NOINLINE int late(int n)
{
    int s = n;
    while (s > 3 && s < 1000)
        s /= 3;
    if (s > 2) {
        s += leaf(s);
        s += leaf(s) + leaf(n);
    }
    return s;
}

int main(void)
{
    int v = 5, total = 0;
    for (int i = 0; i < 3; i++) {
        fill_stack();
        total += early(NULL, i) + early(&v, 0) + early(&v, i + 1);
        fill_stack();
        total += cold_part(i) + cold_part(2000 + i);
        total += late(i) + late(28) + late(11);
    }
    CHECK(total != 0);
    return 0;
}
