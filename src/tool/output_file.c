/* SPDX-License-Identifier: MIT */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/why.h"

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

static int write_beside(const char *path, const void *bytes, size_t size)
{
    char *name;
    if (asprintf(&name, "%s.XXXXXX", path) < 0)
        return -1;
    int fd = mkostemp(name, O_CLOEXEC), status = -1;
    if (fd >= 0) {
        mode_t mask = umask(0);
        umask(mask);
        status = fchmod(fd, 0666 & ~mask);
        if (status == 0)
            status = write_all(fd, bytes, size);
        if (close(fd) != 0)
            status = -1;
        if (status == 0)
            status = rename(name, path);
        int error = errno;
        if (status != 0)
            unlink(name);
        errno = error;
    }
    free(name);
    return status;
}

static int write_in_place(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int status = fd < 0 ? -1 : write_all(fd, bytes, size);
    if (fd >= 0 && close(fd) != 0)
        status = -1;
    return status;
}

/* A link stays the link that it is: what replaced /dev/stdout would be in everybody's way. */
static bool is_replaced(const char *path)
{
    struct stat about;
    return lstat(path, &about) != 0 || S_ISREG(about.st_mode);
}

static int complain_of(const char *path, char **why)
{
    sp_why(why, "%s: cannot write: %s", path, strerror(errno));
    return -1;
}

int sp_output_file_write(const char *path, const void *bytes, size_t size, char **why)
{
    int status = is_replaced(path) ? write_beside(path, bytes, size) : write_in_place(path, bytes, size);
    return status == 0 ? 0 : complain_of(path, why);
}

int sp_output_file_check(const char *path, char **why)
{
    struct stat about;
    if (*path == '\0') {
        sp_why(why, "an output file needs a name");
        return -1;
    }
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        return complain_of(path, why);
    }
    if (!is_replaced(path) && access(path, W_OK) == 0)
        return 0;
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    int status = folder != NULL ? access(folder, W_OK | X_OK) : -1;
    int error = errno;
    free(folder);
    errno = error;
    return status == 0 ? 0 : complain_of(path, why);
}
