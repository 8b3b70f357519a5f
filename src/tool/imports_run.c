/* SPDX-License-Identifier: MIT */
#include "imports_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "run.h"

static bool write_options(const char *folder, const struct imports_options *options)
{
    char *path = NULL;
    int file =
        asprintf(&path, "%s/options", folder) < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_written = file >= 0 && write(file, options, sizeof *options) == (ssize_t)sizeof *options;
    if (!is_written)
        sp_complain("%s: cannot be written: %s", path ? path : folder, strerror(errno));
    if (file >= 0)
        close(file);
    free(path);
    return is_written;
}

struct preparation {
    const char *library, *folder;
};

/* Two variables are added, whether LD_PRELOAD was there before or not: see IMPORTS_ENVIRONMENT_FILLER. */
static bool set_environment(const void *argument)
{
    const struct preparation *preparation = argument;
    bool before;
    if (!sp_run_preload(preparation->library, &before) || setenv(IMPORTS_ENVIRONMENT, preparation->folder, 1) != 0 ||
        (before && setenv(IMPORTS_ENVIRONMENT_FILLER, "", 1) != 0))
        return false;
    /* The linker's auditing and profiling take over lazy binding, so there shall be none. */
    return !(getenv("LD_AUDIT") || getenv("LD_PROFILE")) || setenv("LD_BIND_NOW", "1", 1) == 0;
}

int imports_run(const char *path, char **arguments, const char *library, const struct imports_options *options,
                struct imports_run *run)
{
    run->folder = sp_run_folder("imports");
    struct preparation preparation = {library, run->folder};
    pid_t process = -1;
    if (run->folder && write_options(run->folder, options))
        process = sp_run_start(path, arguments, set_environment, &preparation);
    if (process < 0) {
        sp_run_folder_remove(run->folder);
        return -1;
    }
    while (waitpid(process, &run->status, 0) < 0 && errno == EINTR)
        continue;
    return 0;
}
