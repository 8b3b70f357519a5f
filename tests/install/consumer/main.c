/* SPDX-License-Identifier: MIT */
/* Walks a stack of known depth, whole and by words, and finds its own functions by name. Exit status 1 where not. */
#include <spwalk.h>
#include <spwalk_symbols.h>

#include <stdio.h>
#include <string.h>

enum { DEPTH = 20 };

static int words;
static enum sp_end end;
static uintptr_t pc_of_recurse;

int recurse(int depth);

/* Called through this, so that each call is one. */
static int (*volatile next)(int) = recurse;

__attribute__((noinline)) int recurse(int depth)
{
    if (depth > 0)
        return next(depth - 1) + 1;
    struct sp_frame frames[100];
    int count = sp_walk(NULL, frames, 100, &end);
    for (int i = 0; i < count; i++)
        words += frames[i].rule == SP_RULE_WORD;
    pc_of_recurse = frames[1].pc;
    return 0;
}

int main(void)
{
    int depth = recurse(DEPTH);
    printf("%d calls deep, %d frames by word, walk ended: %s\n", depth, words, sp_end_name(end));

    struct sp_symbolizer *symbolizer = sp_symbolizer_new(0, NULL);
    struct sp_symbol symbol;
    int found = sp_symbolize(symbolizer, NULL, pc_of_recurse, 0, &symbol);
    int is_named = found == 1 && strcmp(symbol.function, "recurse") == 0;
    printf("name: %s\n", found == 1 ? symbol.function : sp_miss_name(symbol.miss));
    sp_symbolizer_free(symbolizer);
    return !(end == SP_END_OUTERMOST && words > DEPTH && is_named);
}
