/* SPDX-License-Identifier: MIT */
/* Times walkers side by side on the same stacks: see experiment.h for how, and walk --help for what. */
#include "experiment.h"
#include "machine.h"
#include "output.h"
#include "quick.h"

#include <argp.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames of a walk that are no level: visitor and bottom below; chain_run, main and libc's start above. */
enum { FRAMES_BESIDE_CHAIN = 9 };

/* STATE_CHANGING takes its frames from a program's working set, not from all functions: 2,000 return addresses. */
enum { WORKING_SET = 40 };

static const struct walker *const all_walkers[] = {
    &walker_frame_pointers, &walker_sp_backtrace, &walker_sp_walk, &walker_abseil,       &walker_unw_backtrace,
    &walker_unw_step,       &walker_glibc,        &walker_libgcc,  &walker_libbacktrace,
};
enum { ALL_WALKERS = sizeof all_walkers / sizeof *all_walkers };

struct options {
    bool half, context, quick, machine;
    int depth, rounds, mean_depth;
    unsigned long seed;
    const char *states, *walkers;
};

static const struct argp_option descriptions[] = {
    {"state", 's', "STATE", 0,
     "repeated, changing or never (default: repeated); with --quick also first, and several with commas between "
     "(default: "
     "all)",
     0},
    {"depth", 'd', "FRAMES", 0, "frames of a stack (default: 100)", 0},
    {"half", 'h', NULL, 0, "every other frame is libc's bsearch", 0},
    {"context", 'c', NULL, 0, "walk every other stack from a signal's ucontext", 0},
    {"walkers", 'w', "A,B", 0, "only these, by a part of their names", 0},
    {"rounds", 'r', "N", 0, "samples to take (default: 1000)", 0},
    {"mean-depth", 'm', "FRAMES", 0, "changing: mean number of frames that change (default: 8)", 0},
    {"seed", 'S', "N", 0, "of the stacks' shapes (default: 1)", 0},
    {"quick", 'q', NULL, 0, "print a short table, by default of all states and of the walkers that matter most", 0},
    {"machine", 'M', NULL, 0, "print what the machine is, and no times of walks", 0},
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
        options->states = text;
        break;
    case 'd':
        options->depth = (int)number(text, FRAMES_BESIDE_CHAIN + 1, CHAIN_LEVELS_MAX, "depth");
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
    case 'M':
        options->machine = true;
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

static enum state state_of(const char *name)
{
    enum state state = STATE_REPEATED;
    while (strcmp(output_state_name(state), name) != 0)
        if (++state > STATE_NEVER)
            errx(2, "--state: '%s' is none of repeated, changing, never", name);
    return state;
}

static void check_quick_states(const char *states)
{
    char list[256];
    snprintf(list, sizeof list, "%s", states);
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ","))
        if (strcmp(name, "first") != 0)
            state_of(name);
}

/* A library's walker would find in its cache what another one of the same has just left there. */
static void check_walkers(const struct experiment *experiment)
{
    static const char *const libraries[] = {"sp_", "unw_"};
    for (size_t library = 0; library < sizeof libraries / sizeof *libraries; library++) {
        int count = 0;
        for (int i = 0; i < experiment->walker_count; i++)
            count += strncmp(experiment->walkers[i]->name, libraries[library], strlen(libraries[library])) == 0;
        if (count > 1 && experiment->state != STATE_REPEATED)
            errx(2, "--walkers: name one of %s..., since they share what they remember", libraries[library]);
    }
}

static const struct experiment *perform(const void *from, enum state state, const char *walkers)
{
    static struct experiment experiment;
    const struct options *options = from;
    memset(&experiment, 0, sizeof experiment);
    experiment.state = state;
    experiment.context = options->context;
    experiment.rounds = options->rounds;
    experiment.mean_depth = options->mean_depth;
    for (int i = 0; i < ALL_WALKERS; i++)
        if (is_wanted(walkers, all_walkers[i]->name))
            experiment.walkers[experiment.walker_count++] = all_walkers[i];
    if (experiment.walker_count == 0)
        errx(2, "--walkers: '%s' is part of no walker's name", walkers);
    check_walkers(&experiment);
    int levels = options->depth - FRAMES_BESIDE_CHAIN;
    experiment.chain.levels = options->half ? (levels + 1) / 2 : levels;
    experiment.chain.through_libc = options->half;
    experiment.chain.functions = state == STATE_CHANGING ? WORKING_SET : FRAME_FUNCTIONS;
    experiment.chain.random = options->seed;
    experiment_run(&experiment);
    return &experiment;
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
    if (options.machine) {
        machine_print();
    } else if (options.quick) {
        if (options.states)
            check_quick_states(options.states);
        quick_print(&(struct quick){options.states, options.walkers, options.depth, options.half, options.context,
                                    &options, perform});
    } else {
        enum state state = options.states ? state_of(options.states) : STATE_REPEATED;
        const struct experiment *experiment = perform(&options, state, options.walkers);
        output_columns();
        output_rows(experiment, options.half ? "half" : "whole", options.depth);
    }
    return 0;
}
