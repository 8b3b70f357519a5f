/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_IMPORTS_RUN_H
#define SPWALK_IMPORTS_RUN_H

#include "imports/report.h"

struct imports_run {
    char *folder; /* where the report files are */
    int status;   /* of wait(2) */
};

/*
 * Runs the program at `path` to its end with the preloaded part at `library`. Returns 0 and fills in *run, whose folder
 * sp_run_folder_remove removes; or -1 with a line on stderr, and nothing left behind.
 */
int imports_run(const char *path, char **arguments, const char *library, const struct imports_options *options,
                struct imports_run *run);

#endif
