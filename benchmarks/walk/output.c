/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "statistics.h"

#include <stdio.h>
#include <string.h>

static const char *const state_names[] = {"repeated", "changing", "never seen"};
static const char *const start_names[] = {"own", "context"};

static const double *reference(const struct experiment *experiment, int start, const struct walker *walker)
{
    for (int i = 0; i < experiment->walker_count; i++)
        if (experiment->walkers[i] == walker && !experiment->samples[start][i].wrong)
            return experiment->samples[start][i].ns;
    return NULL;
}

static void print_ratios(const struct experiment *experiment, const double *ns, const double *references)
{
    static double scratch[ROUNDS_MAX];
    if (!references) {
        printf(",,,");
        return;
    }
    struct quartiles ratio = quartiles_of_ratios(ns, references, experiment->rounds, scratch);
    printf(",%.4f,%.4f,%.4f", ratio.first, ratio.median, ratio.third);
}

void output_rows(const struct experiment *experiment, const char *stack, int depth)
{
    static double scratch[ROUNDS_MAX];
    for (int start = 0; start < (experiment->context ? STARTS : 1); start++) {
        const double *chase = reference(experiment, start, &walker_frame_pointers);
        const double *unwind = reference(experiment, start, &walker_unw_backtrace);
        for (int i = 0; i < experiment->walker_count; i++) {
            const struct walker *walker = experiment->walkers[i];
            const struct samples *samples = &experiment->samples[start][i];
            const double *own = start == START_CONTEXT ? reference(experiment, START_OWN, walker) : NULL;
            printf("%s,%s,%s,%s,%d,%s,", BUILD, stack, state_names[experiment->state], start_names[start], depth,
                   walker->name);
            if (samples->wrong) {
                printf("wrong,,,,,,,,,,,,\n");
                continue;
            }
            memcpy(scratch, samples->ns, sizeof scratch);
            struct quartiles ns = quartiles_of(scratch, experiment->rounds);
            printf("%d,%.2f,%.2f,%.2f", samples->frames, ns.first, ns.median, ns.third);
            print_ratios(experiment, samples->ns, chase);
            print_ratios(experiment, samples->ns, unwind);
            print_ratios(experiment, samples->ns, own);
            putchar('\n');
        }
    }
}

void output_columns(void)
{
    puts("build,stack,state,start,depth,walker,frames,ns_q1,ns,ns_q3,"
         "per_chase_q1,per_chase,per_chase_q3,per_unw_q1,per_unw,per_unw_q3,"
         "per_own_q1,per_own,per_own_q3");
}

void output_table_head(void)
{
    printf("%-11s %-8s %-16s %8s %9s %7s %9s %9s %9s\n", "state", "start", "walker", "ns/walk", "ns/frame", "spread",
           "/chase", "/unw", "/own");
}

static void print_short_row(const struct experiment *experiment, int start, int which)
{
    static double scratch[ROUNDS_MAX];
    const struct walker *walker = experiment->walkers[which];
    const struct samples *samples = &experiment->samples[start][which];
    printf("%-11s %-8s %-16s ", state_names[experiment->state], start_names[start], walker->name);
    if (samples->wrong) {
        printf("wrong (%d frames)\n", samples->frames);
        return;
    }
    memcpy(scratch, samples->ns, sizeof scratch);
    struct quartiles ns = quartiles_of(scratch, experiment->rounds);
    printf("%8.1f %9.3f ±%5.1f%%", ns.median, ns.median / samples->frames, (ns.third - ns.first) / 2 / ns.median * 100);
    const double *references[] = {
        reference(experiment, start, &walker_frame_pointers),
        reference(experiment, start, &walker_unw_backtrace),
        start == START_CONTEXT ? reference(experiment, START_OWN, walker) : NULL,
    };
    for (int n = 0; n < 3; n++)
        if (references[n])
            printf(" %9.3f", quartiles_of_ratios(samples->ns, references[n], experiment->rounds, scratch).median);
        else
            printf(" %9s", "-");
    putchar('\n');
}

void output_table(const struct experiment *experiment)
{
    for (int start = 0; start < (experiment->context ? STARTS : 1); start++)
        for (int i = 0; i < experiment->walker_count; i++)
            print_short_row(experiment, start, i);
}
