/* SPDX-License-Identifier: MIT */
/* Calls capture, first when its counter is still 0 and then when it is not, and compares every register. */
#include <stdio.h>
#include <string.h>

extern unsigned long captured[512];
extern int captured_wide;
extern unsigned char pattern[2048];
unsigned long give(int wide);

static int check(const char *when)
{
    static const unsigned long expected[] = {0x7701, 0x7702, 0x7703, 0x7704, 0x7705, 0x7706, 0x7707, 0,
                                             0x7709, 0x770a, 0x770b, 0x770c, 0x770d, 0x770e, 0x770f};
    int wrong = 0, vectors = captured_wide ? 32 : 16;
    memset(captured, 0, 4096);
    unsigned long stack = give(captured_wide);
    for (int i = 0; i < 15; i++)
        if (captured[i] != (i == 7 ? stack : expected[i]))
            wrong++, printf("%s: register %d is %lx\n", when, i, captured[i]);
    if (captured[16] != 0x7757)
        wrong++, printf("%s: the stack word is %lx\n", when, captured[16]);
    for (int i = 0; i < vectors; i++)
        if (memcmp(&captured[32 + 8 * i], pattern + 64 * i, captured_wide ? 64 : 16) != 0)
            wrong++, printf("%s: vector register %d\n", when, i);
    for (int i = 0; i < 8 && captured_wide; i++)
        if (memcmp(&captured[17 + i], pattern + 64 * i, 8) != 0)
            wrong++, printf("%s: mask register %d\n", when, i);
    return wrong;
}

int main(int argc, char **argv)
{
    (void)argv;
    captured_wide = argc > 1 && __builtin_cpu_supports("avx512bw");
    int wrong = check("first");
    wrong += check("second");
    wrong += check("third");
    printf("%s registers: %d wrong\n", captured_wide ? "512-bit" : "128-bit", wrong);
    return wrong != 0;
}
