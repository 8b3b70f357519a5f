/* SPDX-License-Identifier: MIT */
#include "leaks_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "leaks/data.h"

static volatile sig_atomic_t child;

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

/* In memory where that can be, so that a report never waits for a disk. */
static char *make_folder(void)
{
    const char *places[] = {getenv("TMPDIR"), "/dev/shm", "/tmp"};
    char path[4096];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i] == NULL || *places[i] == '\0' || strlen(places[i]) > 2000)
            continue;
        snprintf(path, sizeof path, "%s/spwalk-leaks.XXXXXX", places[i]);
        if (mkdtemp(path) != NULL)
            return strdup(path);
    }
    sp_complain("cannot make a folder in TMPDIR, /dev/shm or /tmp: %s", strerror(errno));
    return NULL;
}

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

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    rmdir(path);
}

/* Our library is the first word of LD_PRELOAD. Where that was set before it stays, so one more variable is added, for
 * an even number of them to be removed from the program's environment. */
static bool set_environment(const char *library, const char *folder, const char *options)
{
    const char *before = getenv("LD_PRELOAD");
    char *value = NULL;
    if (asprintf(&value, "%s%s%s", library, before ? ":" : "", before ? before : "") < 0)
        return false;
    bool is_good = setenv("LD_PRELOAD", value, 1) == 0 && setenv(LEAKS_ENVIRONMENT_FOLDER, folder, 1) == 0 &&
                   setenv(LEAKS_ENVIRONMENT, options, 1) == 0 &&
                   (before != NULL || setenv(LEAKS_ENVIRONMENT "_FILLER", "", 1) == 0);
    free(value);
    return is_good;
}

static void wait_for_end(const char *folder, leaks_run_take *take, void *argument, int *status)
{
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch >= 0)
        inotify_add_watch(watch, folder, IN_MOVED_TO);
    int ended = (int)syscall(SYS_pidfd_open, (pid_t)child, 0);
    struct pollfd events[2] = {{.fd = watch, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
    while (waitpid((pid_t)child, status, ended < 0 && watch < 0 ? 0 : WNOHANG) == 0) {
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
    int pipe_ends[2], error = 0;
    char *folder = make_folder();
    if (folder == NULL)
        return -1;
    fflush(NULL);
    if (pipe2(pipe_ends, O_CLOEXEC) != 0 || (child = fork()) < 0) {
        sp_complain("cannot start %s: %s", path, strerror(errno));
        remove_folder(folder);
        free(folder);
        return -1;
    }
    if (child == 0) {
        if (set_environment(library, folder, options))
            execv(path, arguments);
        error = errno;
        ssize_t written = write(pipe_ends[1], &error, sizeof error);
        (void)written;
        _exit(127);
    }
    close(pipe_ends[1]);
    /* The terminal sends these to the program too, which decides what becomes of it. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, forward = {.sa_handler = pass_on};
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGTERM, &forward, NULL);
    sigaction(SIGHUP, &forward, NULL);
    sigaction(SIGUSR1, &forward, NULL);
    sigaction(SIGUSR2, &forward, NULL);
    ssize_t told;
    while ((told = read(pipe_ends[0], &error, sizeof error)) < 0 && errno == EINTR)
        continue;
    close(pipe_ends[0]);
    wait_for_end(folder, take, argument, status);
    if (told <= 0)
        take_files(folder, take, argument, true);
    else
        sp_complain("cannot run %s: %s", path, strerror(error));
    remove_folder(folder);
    free(folder);
    return told <= 0 ? 0 : -1;
}
