/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "statistics.h"

#include <stdio.h>
#include <string.h>

static const char *const state_names[] = {"repeated", "changing", "never"};
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
    /* Beside walks from a context those from the caller are there for the ratio. */
    for (int start = experiment->context ? START_CONTEXT : START_OWN; start <= (int)experiment->context; start++) {
        const double *chase = reference(experiment, start, &walker_frame_pointers);
        const double *unwind = reference(experiment, start, &walker_unw_backtrace);
        for (int i = 0; i < experiment->walker_count; i++) {
            const struct walker *walker = experiment->walkers[i];
            const struct samples *samples = &experiment->samples[start][i];
            const double *own = start == START_CONTEXT ? reference(experiment, START_OWN, walker) : NULL;
            printf("%s,%s,%s,%s,%d,%s,%d,%.4f,%.4f,", BUILD, stack, state_names[experiment->state], start_names[start],
                   depth, walker->name, experiment->rounds, experiment->history.same, experiment->history.fresh);
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
    puts("build,stack,state,start,depth,walker,rounds,same,fresh,frames,ns_q1,ns,ns_q3,"
         "per_chase_q1,per_chase,per_chase_q3,per_unw_q1,per_unw,per_unw_q3,"
         "per_own_q1,per_own,per_own_q3");
}

void output_table_head(void)
{
    printf("%-11s %-8s %-16s %9s %9s %7s %9s %9s %9s\n", "state", "start", "walker", "ns/walk", "ns/frame", "spread",
           "/chase", "/unw", "/own");
}

void output_short_row(const struct short_row *row)
{
    printf("%-11s %-8s %-16s %9.1f %9.3f ±%5.1f%%", row->state, row->start, row->walker, row->ns.median,
           row->ns.median / row->frames, (row->ns.third - row->ns.first) / 2 / row->ns.median * 100);
    for (int i = 0; i < 3; i++)
        if (row->ratios[i] >= 0)
            printf(" %9.3f", row->ratios[i]);
        else
            printf(" %9s", "-");
    putchar('\n');
}

static void print_short_row(const struct experiment *experiment, int start, int which)
{
    static double scratch[ROUNDS_MAX];
    const struct walker *walker = experiment->walkers[which];
    const struct samples *samples = &experiment->samples[start][which];
    struct short_row row = {
        state_names[experiment->state], start_names[start], walker->name, {0, 0, 0}, samples->frames, {0}};
    if (samples->wrong) {
        printf("%-11s %-8s %-16s wrong (%d frames)\n", row.state, row.start, row.walker, samples->frames);
        return;
    }
    memcpy(scratch, samples->ns, sizeof scratch);
    row.ns = quartiles_of(scratch, experiment->rounds);
    const double *references[] = {
        reference(experiment, start, &walker_frame_pointers),
        reference(experiment, start, &walker_unw_backtrace),
        start == START_CONTEXT ? reference(experiment, START_OWN, walker) : NULL,
    };
    for (int i = 0; i < 3; i++)
        row.ratios[i] =
            references[i] ? quartiles_of_ratios(samples->ns, references[i], experiment->rounds, scratch).median : -1;
    output_short_row(&row);
}

void output_table(const struct experiment *experiment)
{
    for (int start = 0; start < (experiment->context ? STARTS : 1); start++)
        for (int i = 0; i < experiment->walker_count; i++)
            print_short_row(experiment, start, i);
}

const char *output_state_name(enum state state)
{
    return state_names[state];
}
