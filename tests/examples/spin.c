/* SPDX-License-Identifier: MIT */
/* Spends its time below a known chain of calls, in two places three to one. */
#include <stdlib.h>

__attribute__((noipa)) static void burn(volatile unsigned long *work, unsigned long times)
{
    for (unsigned long i = 0; i < times; i++)
        *work += i;
}

__attribute__((noipa)) static void hot(volatile unsigned long *work, unsigned long times)
{
    burn(work, 3 * times);
    __asm__ volatile("");
}

__attribute__((noipa)) static void warm(volatile unsigned long *work, unsigned long times)
{
    burn(work, times);
    __asm__ volatile("");
}

int main(void)
{
    volatile unsigned long work = 0;
    for (int round = 0; round < 60; round++) {
        hot(&work, 3000000);
        warm(&work, 3000000);
    }
    return 0;
}
