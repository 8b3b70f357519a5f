/* SPDX-License-Identifier: MIT */
/*
 * PROGRAM ADDRESSES, linked with the generated functions: milliseconds of CPU time for all look-ups by GCC's
 * libbacktrace, which reads the symbols of the program that it is in. The first look-up reads them all.
 */
#include <backtrace.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static void on_symbol(void *data, uintptr_t pc, const char *name, uintptr_t value, uintptr_t size)
{
    (void)pc;
    (void)value;
    (void)size;
    *(size_t *)data += name != NULL;
}

static void on_error(void *data, const char *message, int error)
{
    (void)data;
    fprintf(stderr, "%s (%d)\n", message, error);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    static uintptr_t addresses[1000000];
    size_t count = 0, found = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (file == NULL)
        return 2;
    while (count < 1000000 && fscanf(file, "%" SCNxPTR, &addresses[count]) == 1)
        count++;
    double start = now();
    struct backtrace_state *state = backtrace_create_state(NULL, 0, on_error, NULL);
    backtrace_syminfo(state, addresses[0], on_symbol, on_error, &found);
    double first = now();
    for (size_t i = 1; i < count; i++)
        backtrace_syminfo(state, addresses[i], on_symbol, on_error, &found);
    printf("%.2f %.2f %zu\n", first - start, now() - start, found);
    return 0;
}
