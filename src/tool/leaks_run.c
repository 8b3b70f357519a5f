/* SPDX-License-Identifier: MIT */
#include "leaks_run.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leaks/data.h"
#include "run.h"

static int is_data(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && strcmp(dot, LEAKS_SUFFIX) == 0;
}

/* By process and number, as the names' digits are. */
static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strverscmp((*left)->d_name, (*right)->d_name);
}

static void take_files(const char *folder, leaks_run_take *take, void *argument, bool is_end)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_data, by_name);
    for (int i = 0; i < count; i++) {
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (take(argument, path, is_end))
            unlink(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

struct preparation {
    const char *library, *folder, *options;
};

/* Our library is the first word of LD_PRELOAD. Where that was set before it stays, so one more variable is added, for
 * an even number of them to be removed from the program's environment. */
static bool set_environment(const void *argument)
{
    const struct preparation *preparation = argument;
    bool before;
    return sp_run_preload(preparation->library, &before) &&
           setenv(LEAKS_ENVIRONMENT_FOLDER, preparation->folder, 1) == 0 &&
           setenv(LEAKS_ENVIRONMENT, preparation->options, 1) == 0 &&
           (before || setenv(LEAKS_ENVIRONMENT "_FILLER", "", 1) == 0);
}

static void wait_for_end(pid_t process, const char *folder, leaks_run_take *take, void *argument, int *status)
{
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch >= 0)
        inotify_add_watch(watch, folder, IN_MOVED_TO);
    int ended = (int)syscall(SYS_pidfd_open, process, 0);
    struct pollfd events[2] = {{.fd = watch, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
    while (waitpid(process, status, ended < 0 && watch < 0 ? 0 : WNOHANG) == 0) {
        char buffer[4096];
        if (poll(events, 2, ended < 0 ? 100 : -1) > 0 && events[0].revents != 0 &&
            read(watch, buffer, sizeof buffer) > 0)
            take_files(folder, take, argument, false);
    }
    if (watch >= 0)
        close(watch);
    if (ended >= 0)
        close(ended);
}

int leaks_run(const char *path, char **arguments, const char *library, const char *options, leaks_run_take *take,
              void *argument, int *status)
{
    char *folder = sp_run_folder("leaks");
    struct preparation preparation = {library, folder, options};
    pid_t process = folder == NULL ? -1 : sp_run_start(path, arguments, set_environment, &preparation);
    if (process > 0) {
        wait_for_end(process, folder, take, argument, status);
        take_files(folder, take, argument, true);
    }
    sp_run_folder_remove(folder);
    return process > 0 ? 0 : -1;
}
