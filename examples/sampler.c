/* SPDX-License-Identifier: MIT */
/*
 * A sampling profiler for any program, preloaded into it:
 *
 *     cc -O2 -shared -fPIC sampler.c $(pkg-config --cflags --libs spwalk spwalk-symbols) -o sampler.so
 *     LD_PRELOAD=./sampler.so PROGRAM
 *
 * A timer interrupts the program at each 1/SAMPLER_HZ second of processor time (default 997), and the handler stores
 * the interrupted stack: sp_backtrace_context may do that at any instruction, in any thread, without a lock. When the
 * program ends, its SAMPLER_TOP hottest stacks (default 10) are written to stderr.
 */
#define _GNU_SOURCE
#include <spwalk.h>
#include <spwalk_symbols.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { SAMPLES_MAX = 1 << 16, FRAMES_MAX = 60, FRAMES_SHOWN = 12 };

struct sample {
    int count;
    void *pcs[FRAMES_MAX];
};

/* Mapped, so that only what is used takes memory. */
static struct sample *samples;
static atomic_int taken;

static void on_tick(int number, siginfo_t *info, void *ucontext)
{
    (void)number, (void)info;
    int index = atomic_fetch_add(&taken, 1);
    if (index < SAMPLES_MAX)
        samples[index].count = sp_backtrace_context(ucontext, samples[index].pcs, FRAMES_MAX);
}

static int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    int value = text ? atoi(text) : 0;
    return value > 0 ? value : otherwise;
}

static void set_timer(int hertz)
{
    struct timeval interval = {.tv_usec = hertz > 0 ? 1000000 / hertz : 0};
    struct itimerval timer = {interval, interval};
    setitimer(ITIMER_PROF, &timer, NULL);
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    samples = mmap(NULL, SAMPLES_MAX * sizeof *samples, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (samples == MAP_FAILED || sigaction(SIGPROF, &action, NULL) != 0)
        return;
    /* A program that this one starts shall not be sampled into the same report. */
    unsetenv("LD_PRELOAD");
    set_timer(setting("SAMPLER_HZ", 997));
}

static struct sp_symbolizer *symbolizer;

/* Where a pc's function begins: samples in one function, at whichever instruction, are to count as one. */
static void *function_of(void *pc, int interrupted)
{
    struct sp_symbol symbol;
    return sp_symbolize(symbolizer, NULL, (uintptr_t)pc, interrupted, &symbol) == 1
               ? (char *)pc - symbol.function_offset
               : pc;
}

static int compare_stacks(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    int count = a->count < b->count ? a->count : b->count;
    int order = memcmp(a->pcs, b->pcs, (size_t)count * sizeof *a->pcs);
    return order ? order : a->count - b->count;
}

struct group {
    const struct sample *stack;
    int samples;
};

static int compare_groups(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    return (a->samples < b->samples) - (a->samples > b->samples);
}

static void print_stack(const struct sample *stack)
{
    for (int i = 0; i < stack->count && i < FRAMES_SHOWN; i++) {
        struct sp_symbol symbol;
        int found = sp_symbolize(symbolizer, NULL, (uintptr_t)stack->pcs[i], 1, &symbol);
        const char *module = symbol.module ? strrchr(symbol.module, '/') : NULL;
        module = module ? module + 1 : "no module";
        if (found == 1)
            fprintf(stderr, "    %s (%s)\n", symbol.function, module);
        else
            fprintf(stderr, "    %#lx (%s)\n", (unsigned long)symbol.module_offset, module);
    }
    if (stack->count > FRAMES_SHOWN)
        fprintf(stderr, "    ... %d more\n", stack->count - FRAMES_SHOWN);
}

__attribute__((destructor)) static void report(void)
{
    set_timer(0);
    signal(SIGPROF, SIG_IGN);
    int count = atomic_load(&taken);
    int kept = count < SAMPLES_MAX ? count : SAMPLES_MAX;
    if (samples == MAP_FAILED || kept == 0) {
        fprintf(stderr, "sampler: no samples\n");
        return;
    }
    struct group *groups = calloc((size_t)kept, sizeof *groups);
    symbolizer = sp_symbolizer_new(SP_DEMANGLE, NULL);
    if (!groups || !symbolizer) {
        fprintf(stderr, "sampler: out of memory\n");
        return;
    }

    for (int i = 0; i < kept; i++)
        for (int frame = 0; frame < samples[i].count; frame++)
            samples[i].pcs[frame] = function_of(samples[i].pcs[frame], frame == 0);
    qsort(samples, (size_t)kept, sizeof *samples, compare_stacks);
    int group_count = 0;
    for (int i = 0; i < kept; i++) {
        if (i == 0 || compare_stacks(&samples[i - 1], &samples[i]) != 0)
            groups[group_count++].stack = &samples[i];
        groups[group_count - 1].samples++;
    }
    qsort(groups, (size_t)group_count, sizeof *groups, compare_groups);

    int shown = setting("SAMPLER_TOP", 10);
    fprintf(stderr, "%d samples, %d lost, %d different stacks; the hottest:\n", kept, count - kept, group_count);
    for (int i = 0; i < group_count && i < shown; i++) {
        fprintf(stderr, "%5.1f %%  %d samples\n", groups[i].samples * 100.0 / kept, groups[i].samples);
        print_stack(groups[i].stack);
    }
    sp_symbolizer_free(symbolizer);
    free(groups);
}
