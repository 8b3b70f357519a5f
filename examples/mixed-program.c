/* SPDX-License-Identifier: MIT */
/*
 * A program whose stack is half its own and half a library's, of which only one is built with the plugin: prints each
 * frame, and by what rule the walk left it. Without the plugin, with a library that has it:
 *
 *     cc -O2 mixed-program.c -L. -lmixed $(pkg-config --cflags --libs spwalk spwalk-symbols) -o mixed-program
 *
 * and the other way round:
 *
 *     cc -O2 $(pkg-config --cflags spwalk-plugin) mixed-program.c -L. -lmixed -o mixed-program \
 *         $(pkg-config --cflags --libs spwalk spwalk-symbols)
 *
 * Both run with LD_LIBRARY_PATH=. ./mixed-program
 */
#include "mixed-library.h"

#include <spwalk.h>
#include <spwalk_symbols.h>

#include <stdio.h>

enum { FRAMES_MAX = 64 };

static const char *const rule_names[] = {"-", "word", "CFI", "signal"};

static void print_stack(void)
{
    struct sp_frame frames[FRAMES_MAX];
    enum sp_end end;
    int count = sp_walk(NULL, frames, FRAMES_MAX, &end);
    struct sp_symbolizer *symbolizer = sp_symbolizer_new(0, NULL);
    if (!symbolizer)
        return;
    for (int i = 0; i < count; i++) {
        struct sp_symbol symbol;
        int found = sp_symbolize(symbolizer, NULL, frames[i].pc, frames[i].interrupted, &symbol);
        printf("#%-2d %-6s %4u bytes  %s\n", i, rule_names[frames[i].rule], frames[i].size,
               found == 1 ? symbol.function : "?");
    }
    printf("end: %s\n", sp_end_name(end));
    sp_symbolizer_free(symbolizer);
}

__attribute__((noinline)) static void on_node(int depth)
{
    if (depth == 0)
        print_stack();
    __asm__ volatile("");
}

int main(void)
{
    mixed_visit(3, on_node);
    return 0;
}
