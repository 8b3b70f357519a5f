/* SPDX-License-Identifier: MIT */
/* asks CASE: a program that uses spwalk_leaks.h itself. */
#include <spwalk_leaks.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile sink;
static void *kept;

__attribute__((noinline)) static void leak(size_t size)
{
    sink = malloc(size);
    sink = NULL;
}

static int refuse(const struct sp_leaks_summary *summary, void *argument)
{
    printf("hook %llu %llu %s\n", (unsigned long long)summary->lost_blocks, (unsigned long long)summary->lost_bytes,
           (const char *)argument);
    fflush(stdout);
    return 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    struct sp_leaks_summary summary;
    if (strcmp(name, "disable") == 0) {
        leak(1);
        sp_leaks_disable();
        leak(2);
        sp_leaks_restore();
        leak(4);
        sp_leaks_disable_all();
        leak(8);
        sp_leaks_enable();
        leak(16);
        sp_leaks_restore();
        leak(32);
        sp_leaks_enable_all();
        leak(64);
    } else if (strcmp(name, "count") == 0) {
        leak(10);
        leak(20);
        kept = malloc(100);
        sp_leaks_count(&summary);
        printf("%llu %llu\n", (unsigned long long)summary.lost_blocks, (unsigned long long)summary.lost_bytes);
    } else if (strcmp(name, "now") == 0) {
        leak(10);
        sp_leaks_report();
        sp_leaks_mark_all_reported();
        leak(20);
    } else if (strcmp(name, "signal") == 0) {
        leak(10);
        raise(SIGUSR2);
        leak(20);
    } else if (strcmp(name, "ignore") == 0) {
        leak(10);
        void *block = malloc(20);
        printf("%d %d\n", sp_leaks_ignore(block), sp_leaks_ignore(&kept));
    } else if (strcmp(name, "hook") == 0) {
        sp_leaks_set_hook(refuse, (void *)"argument");
        leak(10);
    }
    return 0;
}
