/* SPDX-License-Identifier: MIT */
#include "imports_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

static volatile sig_atomic_t child;

static void pass_on(int number)
{
    if (child > 0)
        kill((pid_t)child, number);
}

/* The folder of the report files: in memory where that can be, so that counting never waits for a disk. */
static char *make_folder(const struct imports_options *options)
{
    const char *given = getenv("TMPDIR"), *places[] = {given, "/dev/shm", "/tmp"};
    char path[4096];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || !*places[i])
            continue;
        snprintf(path, sizeof path - 16, "%s/spwalk-imports.XXXXXX", places[i]);
        if (!mkdtemp(path))
            continue;
        char *folder = strdup(path);
        strcat(path, "/options");
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        bool written = file >= 0 && write(file, options, sizeof *options) == (ssize_t)sizeof *options;
        if (file >= 0)
            close(file);
        if (written)
            return folder;
        struct imports_run run = {.folder = folder};
        imports_run_remove(&run);
    }
    sp_complain("cannot make a folder in TMPDIR, /dev/shm or /tmp: %s", strerror(errno));
    return NULL;
}

void imports_run_remove(struct imports_run *run)
{
    DIR *folder = run->folder ? opendir(run->folder) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    if (run->folder)
        rmdir(run->folder);
    free(run->folder);
    run->folder = NULL;
}

/* Two variables are added, whether LD_PRELOAD was there before or not: see IMPORTS_ENVIRONMENT_FILLER. */
static bool set_environment(const char *library, const char *folder)
{
    const char *before = getenv("LD_PRELOAD");
    char *value = NULL;
    if (asprintf(&value, "%s%s%s", library, before ? ":" : "", before ? before : "") < 0)
        return false;
    bool good = setenv("LD_PRELOAD", value, 1) == 0 && setenv(IMPORTS_ENVIRONMENT, folder, 1) == 0 &&
                (!before || setenv(IMPORTS_ENVIRONMENT_FILLER, "", 1) == 0);
    free(value);
    /* The linker's auditing and profiling take over lazy binding, so there shall be none. */
    if (getenv("LD_AUDIT") || getenv("LD_PROFILE"))
        good = good && setenv("LD_BIND_NOW", "1", 1) == 0;
    return good;
}

/* Runs in the child. What goes wrong is told through the pipe, which a successful exec closes. */
static void run_program(const char *path, char **arguments, const char *library, const char *folder, int told)
{
    if (set_environment(library, folder))
        execv(path, arguments);
    int error = errno;
    ssize_t written = write(told, &error, sizeof error);
    (void)written;
    _exit(127);
}

static int wait_for(pid_t process)
{
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

int imports_run(const char *path, char **arguments, const char *library, const struct imports_options *options,
                struct imports_run *run)
{
    int pipe_ends[2], error = 0;
    run->folder = make_folder(options);
    if (!run->folder)
        return -1;
    fflush(NULL);
    if (pipe2(pipe_ends, O_CLOEXEC) != 0 || (child = fork()) < 0) {
        sp_complain("cannot start %s: %s", path, strerror(errno));
        imports_run_remove(run);
        return -1;
    }
    if (child == 0)
        run_program(path, arguments, library, run->folder, pipe_ends[1]);
    close(pipe_ends[1]);
    /* The terminal sends these to the program too, which decides what becomes of it; the report is made in any case. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, forward = {.sa_handler = pass_on};
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGTERM, &forward, NULL);
    sigaction(SIGHUP, &forward, NULL);
    ssize_t told;
    while ((told = read(pipe_ends[0], &error, sizeof error)) < 0 && errno == EINTR)
        continue;
    close(pipe_ends[0]);
    run->status = wait_for((pid_t)child);
    if (told <= 0)
        return 0;
    sp_complain("cannot run %s: %s", path, strerror(error));
    imports_run_remove(run);
    return -1;
}
