/* SPDX-License-Identifier: MIT */
/* For test-execinfo.sh: prints its stack as execinfo.h has it. */
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) int innermost(void)
{
    void *pcs[32];
    int count = backtrace(pcs, 32);
    char **names = backtrace_symbols(pcs, count);
    for (int i = 0; i < count; i++)
        puts(names[i]);
    free(names);
    puts("--");
    fflush(stdout);
    backtrace_symbols_fd(pcs, count, 1);
    return count;
}

static __attribute__((noinline)) int middle(void)
{
    return innermost() + 1;
}

int main(void)
{
    return middle() > 3 ? 0 : 1;
}
