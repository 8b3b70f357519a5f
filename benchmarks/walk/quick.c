/* SPDX-License-Identifier: MIT */
#include "quick.h"

#include "output.h"
#include "statistics.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_PROCESSES = 15 };

/* In a process of its own: what one experiment's walks leave behind is nothing for the next to find. */
static void perform_and_print(const struct quick *quick, enum state state, const char *walkers)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        err(1, "fork");
    if (child == 0) {
        output_table(quick->perform(quick->options, state, walkers));
        exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        errx(1, "an experiment failed");
}

/* Sets path to the folder of this program, with a '/' behind. */
static void find_own_folder(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length < 0)
        err(1, "/proc/self/exe");
    path[length] = '\0';
    strrchr(path, '/')[1] = '\0';
}

/* The first walk of a new process in ns, by the walker's own program (first.c); negative where it isn't built. */
static double first_walk(const struct quick *quick, const char *folder, const char *walker, int seed)
{
    char command[4352];
    snprintf(command, sizeof command, "%sfirst-%s-%s", folder, BUILD, walker);
    if (access(command, X_OK) != 0)
        return -1;
    snprintf(command, sizeof command, "%sfirst-%s-%s %d %d%s%s", folder, BUILD, walker, quick->depth, seed,
             quick->half ? " half" : "", quick->context ? " context" : "");
    FILE *output = popen(command, "r");
    double ns = -1;
    if (!output || fscanf(output, "%lf", &ns) != 1)
        errx(1, "'%s' failed", command);
    pclose(output);
    return ns;
}

static void print_first(const struct quick *quick)
{
    static const char *const walkers[] = {"unw_backtrace", "sp_backtrace", "frame_pointers"};
    enum { UNWIND, OURS, CHASE, WALKERS };
    /* Only with frame pointers all of the way is there a chase. */
    int count = strcmp(BUILD, "both") == 0 && !quick->half ? WALKERS : CHASE;
    double ns[WALKERS][FIRST_PROCESSES], scratch[FIRST_PROCESSES];
    char folder[4096];
    find_own_folder(folder, sizeof folder);
    for (int process = 0; process < FIRST_PROCESSES; process++)
        for (int i = 0; i < count; i++)
            if ((ns[i][process] = first_walk(quick, folder, walkers[i], process)) < 0)
                return;
    for (int i = count - 1; i >= 0; i--) {
        struct short_row row = {"first",     quick->context ? "context" : "own", walkers[i], {0, 0, 0}, quick->depth,
                                {-1, -1, -1}};
        if (count > CHASE)
            row.ratios[0] = quartiles_of_ratios(ns[i], ns[CHASE], FIRST_PROCESSES, scratch).median;
        row.ratios[1] = quartiles_of_ratios(ns[i], ns[UNWIND], FIRST_PROCESSES, scratch).median;
        memcpy(scratch, ns[i], sizeof scratch);
        row.ns = quartiles_of(scratch, FIRST_PROCESSES);
        output_short_row(&row);
    }
}

static bool is_chosen(const char *states, enum state state)
{
    return !states || strstr(states, output_state_name(state));
}

void quick_print(const struct quick *quick)
{
    /* Beside the chase nothing slow shall run that takes the caches from the fast ones. */
    static const char *const passes[] = {"frame pointers,sp_backtrace", "sp_backtrace,unw_backtrace"};
    output_table_head();
    for (enum state state = STATE_REPEATED; state <= STATE_NEVER; state++)
        for (int pass = 0; pass < (quick->walkers ? 1 : 2) && is_chosen(quick->states, state); pass++)
            perform_and_print(quick, state, quick->walkers ? quick->walkers : passes[pass]);
    if (!quick->states || strstr(quick->states, "first"))
        print_first(quick);
}
