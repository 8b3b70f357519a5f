/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_LEAKS_RUN_H
#define SPWALK_LEAKS_RUN_H

#include <stdbool.h>

/*
 * Called for each data file, when it appears (is_end false) and at the end for those it did not take. Returns whether
 * it took it; the file is then removed.
 */
typedef bool leaks_run_take(void *argument, const char *path, bool is_end);

/*
 * Runs the program at `path` to its end with the preloaded part at `library`. options: the value of SPWALK_LEAKS.
 * Returns 0 with the status of wait(2) in *status, or -1 with a line on stderr. Nothing is left behind.
 */
int leaks_run(const char *path, char **arguments, const char *library, const char *options, leaks_run_take *take,
              void *argument, int *status);

#endif
