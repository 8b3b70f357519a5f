/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

#define SP_RUN_ROOM (16ull << 20)

static volatile sig_atomic_t child;

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

/* What is mapped from a file for which there is no room ends the program that writes to it. */
static bool has_room(const char *place)
{
    struct statvfs room;
    if (statvfs(place, &room) != 0)
        return false;
    if ((unsigned long long)room.f_bavail * room.f_frsize >= SP_RUN_ROOM)
        return true;
    errno = ENOSPC;
    return false;
}

char *sp_run_folder(const char *name)
{
    const char *places[] = {getenv("TMPDIR"), "/dev/shm", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i] == NULL || *places[i] == '\0' || !has_room(places[i]))
            continue;
        /* The program may change its current folder before it executes others. */
        char *place = realpath(places[i], NULL), *path = NULL;
        int length = place == NULL ? -1 : asprintf(&path, "%s/spwalk-%s.XXXXXX", place, name);
        free(place);
        if (length >= 0 && mkdtemp(path) != NULL)
            return path;
        free(length >= 0 ? path : NULL);
    }
    sp_complain("cannot make a folder in TMPDIR, /dev/shm or /tmp: %s", strerror(errno));
    return NULL;
}

void sp_run_folder_remove(char *path)
{
    DIR *folder = path ? opendir(path) : NULL;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    if (path != NULL)
        rmdir(path);
    free(path);
}

bool sp_run_preload(const char *library, bool *before)
{
    const char *others = getenv("LD_PRELOAD");
    char *value = NULL;
    *before = others != NULL;
    if (asprintf(&value, "%s%s%s", library, others ? ":" : "", others ? others : "") < 0)
        return false;
    bool is_set = setenv("LD_PRELOAD", value, 1) == 0;
    free(value);
    return is_set;
}

static void catch_signals(void)
{
    /* The terminal sends these to the program too, which decides what becomes of it; the report is made in any case. */
    static const int for_both[] = {SIGINT, SIGQUIT}, for_us[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, forward = {.sa_handler = pass_on};
    for (size_t i = 0; i < sizeof for_both / sizeof *for_both; i++)
        sigaction(for_both[i], &ignore, NULL);
    for (size_t i = 0; i < sizeof for_us / sizeof *for_us; i++)
        sigaction(for_us[i], &forward, NULL);
}

pid_t sp_run_start(const char *path, char **arguments, bool (*prepare)(const void *argument), const void *argument)
{
    int pipe_ends[2], error = 0, unused;
    pid_t started;
    /* Who started us may ignore SIGCHLD, which the program inherits; but then no status could be waited for. */
    struct sigaction usual = {.sa_handler = SIG_DFL}, before;
    sigaction(SIGCHLD, &usual, &before);
    fflush(NULL);
    if (pipe2(pipe_ends, O_CLOEXEC) != 0 || (started = fork()) < 0) {
        sp_complain("cannot start %s: %s", path, strerror(errno));
        return -1;
    }
    if (started == 0) {
        sigaction(SIGCHLD, &before, NULL);
        if (prepare(argument))
            execv(path, arguments);
        /* Told through the pipe, which a successful exec closes. */
        error = errno;
        ssize_t written = write(pipe_ends[1], &error, sizeof error);
        (void)written;
        _exit(127);
    }
    child = started;
    catch_signals();
    close(pipe_ends[1]);
    ssize_t told;
    while ((told = read(pipe_ends[0], &error, sizeof error)) < 0 && errno == EINTR)
        continue;
    close(pipe_ends[0]);
    if (told <= 0)
        return started;
    while (waitpid(started, &unused, 0) < 0 && errno == EINTR)
        continue;
    sp_complain("cannot run %s: %s", path, strerror(error));
    return -1;
}

int sp_run_end_as(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}
