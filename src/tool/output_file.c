/* SPDX-License-Identifier: MIT */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
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

int sp_output_file_write(const char *path, const void *bytes, size_t size, char **why)
{
    struct stat about;
    int status;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        status = fd < 0 ? -1 : write_all(fd, bytes, size);
        if (fd >= 0 && close(fd) != 0)
            status = -1;
    } else {
        status = write_beside(path, bytes, size);
    }
    if (status != 0)
        sp_why(why, "%s: cannot write: %s", path, strerror(errno));
    return status;
}
