/* SPDX-License-Identifier: MIT */
/*
 * Every function that the headers declare: every.h, made from them, has an EVERY(name) for each. All are linked, and
 * those that print a stack run. Exit status 1 where a stack is not whole or this program's function is not named.
 */
#include <spwalk.h>
#include <spwalk_symbols.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void function(void);

static const struct {
    const char *name;
    function *function;
} functions[] = {
#define EVERY(name) {#name, (function *)name},
#include "every.h"
};

int main(void)
{
    size_t count = sizeof functions / sizeof *functions;
    for (size_t i = 0; i < count; i++)
        printf("%s at %p\n", functions[i].name, (void *)functions[i].function);
    fflush(stdout);

    struct sp_frame frames[50];
    enum sp_end end;
    void *pcs[50];
    int depth = sp_backtrace(pcs, 50), walked = sp_walk(NULL, frames, 50, &end);
    char **names = sp_backtrace_symbols(pcs, depth);
    printf("%d functions, walk ended: %s, innermost: %s\n", (int)count, sp_end_name(end),
           names == NULL || depth < 1 ? "?" : names[0]);
    fflush(stdout);
    sp_backtrace_symbols_fd(pcs, depth, STDOUT_FILENO);
    int printed = sp_print_backtrace(STDOUT_FILENO);
    int is_right = end == SP_END_OUTERMOST && walked == depth && printed == depth && names != NULL &&
                   strstr(names[0], "(main+0x") != NULL;
    free(names);
    return !is_right;
}
