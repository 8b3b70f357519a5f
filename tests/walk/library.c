/* SPDX-License-Identifier: MIT */
/* Built twice for memory.c: the same addresses, down to those of the calls, and another frame. */
int library_call(void (*walk)(void));

__attribute__((noinline)) static int inner(void (*walk)(void))
{
    volatile char block[FRAME];
    block[0] = 1;
    walk();
    return block[0];
}

int library_call(void (*walk)(void))
{
    return inner(walk) + 1;
}
