/* SPDX-License-Identifier: MIT */
/* Running a program with a preloaded part, and ending as it did. */
#ifndef SPWALK_RUN_H
#define SPWALK_RUN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Makes the folder through which the preloaded part tells: TMPDIR/spwalk-NAME.XXXXXX, or in /dev/shm, or in /tmp,
 * where there is some room; in memory where that can be, so that nothing waits for a disk. Returns its absolute path,
 * which sp_run_folder_remove frees; or NULL with a line on stderr.
 */
char *sp_run_folder(const char *name);

/* Removes the folder and the files in it, and frees the path. NULL is allowed. */
void sp_run_folder_remove(char *folder);

/* Puts the library in front of what LD_PRELOAD has. *before: whether there was such a variable. */
bool sp_run_preload(const char *library, bool *before);

/*
 * Starts the program at `path`. `prepare` is called in the child, before the program; false is a failure, with errno
 * set. Signals that are to end or to tell this process something are from now on passed to the program. Returns its
 * number, for waitpid(2); or -1 with a line on stderr.
 */
pid_t sp_run_start(const char *path, char **arguments, bool (*prepare)(const void *argument), const void *argument);

/* Ends as the program with this status of wait(2) did: returns its exit status, or ends by the same signal. */
int sp_run_end_as(int status);

#endif
