/* SPDX-License-Identifier: MIT */
/*
 * A library that calls back. With the plugin, for a program without it:
 *
 *     cc -O2 -shared -fPIC $(pkg-config --cflags spwalk-plugin) mixed-library.c -o libmixed.so
 *
 * and without the plugin, for a program with it:
 *
 *     cc -O2 -shared -fPIC mixed-library.c -o libmixed.so
 */
#include "mixed-library.h"

/* Kept a function of its own, and one that has a frame when it calls, so that there is something to walk. */
__attribute__((noinline)) static void visit_below(int depth, void (*visit)(int depth))
{
    visit(depth);
    if (depth > 0) {
        visit_below(depth - 1, visit);
        __asm__ volatile("");
    }
}

void mixed_visit(int depth, void (*visit)(int depth))
{
    visit_below(depth, visit);
    __asm__ volatile("");
}
