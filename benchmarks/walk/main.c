/* SPDX-License-Identifier: MIT */
/* Times walkers side by side on the same stacks: see experiment.h for how, and walk --help for what. */
#include "experiment.h"
#include "statistics.h"

#include <argp.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames of a walk that are no level: visitor and bottom below; chain_run, main and libc's start above. */
enum { FRAMES_BESIDE_CHAIN = 9 };

/* STATE_CHANGING takes its frames from a program's working set, not from all the functions there are. */
enum { WORKING_SET = 100 };

static const struct walker *const all_walkers[] = {
    &walker_frame_pointers, &walker_sp_backtrace, &walker_sp_walk, &walker_abseil,
    &walker_unw_backtrace,  &walker_unw_step,     &walker_glibc,   &walker_libgcc,
};
enum { ALL_WALKERS = sizeof all_walkers / sizeof *all_walkers };

static const char *const state_names[] = {"repeated", "changing", "never seen"};
static const char *const start_names[] = {"own", "context"};

struct options {
    enum state state;
    bool half, context, quick;
    int depth, rounds, mean_depth;
    unsigned long seed;
    const char *walkers;
};

static const struct argp_option descriptions[] = {
    {"state", 's', "STATE", 0, "repeated, changing or never (default: repeated)", 0},
    {"depth", 'd', "FRAMES", 0, "frames of a stack (default: 100)", 0},
    {"half", 'h', NULL, 0, "every other frame is libc's bsearch", 0},
    {"context", 'c', NULL, 0, "walk every other stack from a signal's ucontext", 0},
    {"walkers", 'w', "A,B", 0, "only these, by a part of their names", 0},
    {"rounds", 'r', "N", 0, "samples to take (default: 1000)", 0},
    {"mean-depth", 'm', "FRAMES", 0, "changing: mean number of frames that change (default: 8)", 0},
    {"seed", 'S', "N", 0, "of the stacks' shapes (default: 1)", 0},
    {"quick", 'q', NULL, 0, "print a short table: all states, the walkers that matter most", 0},
    {0},
};

static long number(const char *text, long low, long high, const char *option)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < low || value > high)
        errx(2, "--%s: '%s' is no number from %ld to %ld", option, text, low, high);
    return value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 's':
        for (options->state = STATE_REPEATED; options->state <= STATE_NEVER; options->state++)
            if (*text && strncmp(state_names[options->state], text, strlen(text)) == 0)
                return 0;
        errx(2, "--state: '%s' is none of repeated, changing, never", text);
    case 'd':
        options->depth = (int)number(text, FRAMES_BESIDE_CHAIN + 2, CHAIN_LEVELS_MAX, "depth");
        break;
    case 'h':
        options->half = true;
        break;
    case 'c':
        options->context = true;
        break;
    case 'w':
        options->walkers = text;
        break;
    case 'r':
        options->rounds = (int)number(text, 1, ROUNDS_MAX, "rounds");
        break;
    case 'm':
        options->mean_depth = (int)number(text, 2, CHAIN_LEVELS_MAX, "mean-depth");
        break;
    case 'S':
        options->seed = (unsigned long)number(text, 0, 1L << 40, "seed");
        break;
    case 'q':
        options->quick = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static bool is_wanted(const char *wanted, const char *name)
{
    char list[256];
    if (!wanted)
        return true;
    if (strlen(wanted) >= sizeof list)
        errx(2, "--walkers: too long");
    strcpy(list, wanted);
    for (char *part = strtok(list, ","); part; part = strtok(NULL, ","))
        if (strstr(name, part))
            return true;
    return false;
}

static struct experiment *perform(const struct options *options)
{
    static struct experiment experiment;
    memset(&experiment, 0, sizeof experiment);
    experiment.state = options->state;
    experiment.context = options->context;
    experiment.rounds = options->rounds;
    experiment.mean_depth = options->mean_depth;
    for (int i = 0; i < ALL_WALKERS; i++)
        if (is_wanted(options->walkers, all_walkers[i]->name))
            experiment.walkers[experiment.walker_count++] = all_walkers[i];
    if (experiment.walker_count == 0)
        errx(2, "--walkers: '%s' is part of no walker's name", options->walkers);
    int levels = options->depth - FRAMES_BESIDE_CHAIN;
    experiment.chain.levels = options->half ? (levels + 1) / 2 : levels;
    experiment.chain.through_libc = options->half;
    experiment.chain.functions = options->state == STATE_CHANGING ? WORKING_SET : FRAME_FUNCTIONS;
    experiment.chain.random = options->seed;
    experiment_run(&experiment);
    return &experiment;
}

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

static void print_rows(const struct experiment *experiment, const struct options *options)
{
    static double scratch[ROUNDS_MAX];
    for (int start = 0; start < (experiment->context ? STARTS : 1); start++) {
        const double *chase = reference(experiment, start, &walker_frame_pointers);
        const double *unwind = reference(experiment, start, &walker_unw_backtrace);
        for (int i = 0; i < experiment->walker_count; i++) {
            const struct walker *walker = experiment->walkers[i];
            const struct samples *samples = &experiment->samples[start][i];
            const double *own = start == START_CONTEXT ? reference(experiment, START_OWN, walker) : NULL;
            printf("%s,%s,%s,%s,%d,%s,", BUILD, options->half ? "half" : "whole", state_names[options->state],
                   start_names[start], options->depth, walker->name);
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

/* The header of print_rows's lines. */
static const char columns[] = "build,stack,state,start,depth,walker,frames,ns_q1,ns,ns_q3,"
                              "per_chase_q1,per_chase,per_chase_q3,per_unw_q1,per_unw,per_unw_q3,"
                              "per_own_q1,per_own,per_own_q3";

static void print_quick(struct options options)
{
    static double scratch[ROUNDS_MAX];
    options.walkers = options.walkers ? options.walkers : "frame pointers,sp_backtrace,unw_backtrace";
    printf("%-11s %-8s %-16s %7s %12s %9s %9s %9s\n", "state", "start", "walker", "ns/walk", "ns/frame", "/chase",
           "/unw", "/own");
    for (options.state = STATE_REPEATED; options.state <= STATE_NEVER; options.state++) {
        const struct experiment *experiment = perform(&options);
        for (int start = 0; start < (experiment->context ? STARTS : 1); start++) {
            for (int i = 0; i < experiment->walker_count; i++) {
                const struct walker *walker = experiment->walkers[i];
                const struct samples *samples = &experiment->samples[start][i];
                printf("%-11s %-8s %-16s ", state_names[options.state], start_names[start], walker->name);
                if (samples->wrong) {
                    printf("wrong (%d frames)\n", samples->frames);
                    continue;
                }
                memcpy(scratch, samples->ns, sizeof scratch);
                struct quartiles ns = quartiles_of(scratch, experiment->rounds);
                printf("%7.1f %6.3f ±%4.1f%%", ns.median, ns.median / samples->frames,
                       (ns.third - ns.first) / 2 / ns.median * 100);
                const double *references[] = {
                    reference(experiment, start, &walker_frame_pointers),
                    reference(experiment, start, &walker_unw_backtrace),
                    start == START_CONTEXT ? reference(experiment, START_OWN, walker) : NULL,
                };
                for (int n = 0; n < 3; n++)
                    if (references[n])
                        printf(" %9.3f",
                               quartiles_of_ratios(samples->ns, references[n], experiment->rounds, scratch).median);
                    else
                        printf(" %9s", "-");
                putchar('\n');
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct options options = {.depth = 100, .rounds = 1000, .mean_depth = 8, .seed = 1};
    static const struct argp parser = {
        descriptions, parse,
        NULL,         "Times stack walkers side by side on the same stacks. Prints CSV, or with --quick a table.",
        NULL,         NULL,
        NULL};
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    if (options.quick) {
        print_quick(options);
    } else {
        puts(columns);
        print_rows(perform(&options), &options);
    }
    return 0;
}
