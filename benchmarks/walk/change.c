/* SPDX-License-Identifier: MIT */
/*
 * How much of a program's stack changes from one profiler's sample to the next: what "changing" stacks are made to be
 * like. Preloaded into a program, it samples it each millisecond of its processor's time and, at exit, adds a row to
 * the CSV file that CHANGE_FILE names:
 *
 *     program, samples, mean depth, mean frames changed, quartiles and the 90th percentile of frames changed,
 *     distinct pcs
 */
#define _GNU_SOURCE
#include <spwalk.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { FRAMES_MAX = 512, PERIOD_US = 1000, PCS = 1 << 16 };

static struct sp_frame stacks[2][FRAMES_MAX];
static int counts[2], current;
static long samples, frames, distinct;
static long changed_by[FRAMES_MAX + 1]; /* samples by how many frames changed */
static uintptr_t pcs[PCS];

static void note_pc(uintptr_t pc)
{
    for (size_t at = (size_t)(pc * UINT64_C(0x9E3779B97F4A7C15) >> 48); pcs[at] != pc; at = (at + 1) % PCS)
        if (pcs[at] == 0 && distinct < PCS / 2) {
            pcs[at] = pc;
            distinct++;
            return;
        } else if (pcs[at] == 0) {
            return;
        }
}

/* Frames of the current stack that are not the outermost ones of the stack before. */
static int count_changed(void)
{
    const struct sp_frame *now = stacks[current], *before = stacks[!current];
    int left = counts[current], left_before = counts[!current];
    while (left > 0 && left_before > 0 && now[left - 1].pc == before[left_before - 1].pc &&
           now[left - 1].sp == before[left_before - 1].sp)
        left--, left_before--;
    return left;
}

static void on_profile(int number, siginfo_t *info, void *ucontext)
{
    (void)number, (void)info;
    enum sp_end end;
    current = !current;
    counts[current] = sp_walk(ucontext, stacks[current], FRAMES_MAX, &end);
    for (int i = 0; i < counts[current]; i++)
        note_pc(stacks[current][i].pc);
    if (samples++ > 0)
        changed_by[count_changed()]++;
    frames += counts[current];
}

static void set_timer(int period)
{
    struct itimerval timer = {{0, period}, {0, period}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction action = {.sa_sigaction = on_profile, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (getenv("CHANGE_FILE") && sigaction(SIGPROF, &action, NULL) == 0)
        set_timer(PERIOD_US);
}

static int percentile(int percent)
{
    long below = 0;
    int changed = 0;
    while (changed < FRAMES_MAX && (below += changed_by[changed]) * 100 < percent * (samples - 1))
        changed++;
    return changed;
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("CHANGE_FILE");
    set_timer(0);
    FILE *file = path && samples > 1 ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    double changed = 0;
    for (int i = 0; i <= FRAMES_MAX; i++)
        changed += (double)i * (double)changed_by[i];
    fprintf(file, "%s,%ld,%.1f,%.1f,%d,%d,%d,%d,%ld\n", program_invocation_short_name, samples,
            (double)frames / (double)samples, changed / (double)(samples - 1), percentile(25), percentile(50),
            percentile(75), percentile(90), distinct);
    fclose(file);
}
