/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include "clock.h"
#include "statistics.h"

#include <gnu/libc-version.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* libunwind makes several for a frame that its caches don't hold. */
static double system_call_ns(void)
{
    enum { SAMPLES = 31, CALLS = 1000 };
    double ns[SAMPLES], period = clock_period();
    sigset_t none;
    sigemptyset(&none);
    for (int sample = 0; sample < SAMPLES; sample++) {
        uint64_t begin = clock_begin();
        for (int i = 0; i < CALLS; i++)
            sigprocmask(SIG_BLOCK, &none, NULL);
        ns[sample] = (double)(clock_end() - begin) * period / CALLS;
    }
    return quartiles_of(ns, SAMPLES).median;
}

static void print_processor(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256], *name = NULL;
    while (file && !name && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0)
            name = strchr(line, ':');
    if (name) {
        name[strcspn(name, "\n")] = '\0';
        printf("%s, ", name + 2);
    }
    if (file)
        fclose(file);
}

void machine_print(void)
{
    struct utsname kernel;
    print_processor();
    printf("%ld processors", sysconf(_SC_NPROCESSORS_ONLN));
    if (uname(&kernel) == 0)
        printf(", %s %s", kernel.sysname, kernel.release);
    printf(", GCC %s, glibc %s; the system call sigprocmask takes %.0f ns\n", __VERSION__, gnu_get_libc_version(),
           system_call_ns());
}
