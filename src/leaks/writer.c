/* SPDX-License-Identifier: MIT */
#include "leaks/writer.h"

#include "module/kernel.h"

#include <fcntl.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

static char new_path[PATH_SIZE], path[PATH_SIZE];
static char buffer[1 << 16];
static size_t used;
static long file = -1;
static bool has_failed;

static char *put_text(char *at, const char *text)
{
    while (*text != '\0')
        *at++ = *text++;
    *at = '\0';
    return at;
}

static char *put_number(char *at, uint32_t number)
{
    char digits[10];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *at++ = digits[--count];
    *at = '\0';
    return at;
}

static void flush(void)
{
    for (size_t done = 0; done < used && !has_failed;) {
        long part = sp_syscall6(SYS_write, file, (long)(buffer + done), (long)(used - done), 0, 0, 0);
        if (part > 0)
            done += (size_t)part;
        else
            has_failed = part != -4; /* EINTR */
    }
    used = 0;
}

static void append(const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        size_t part = sizeof buffer - used < size ? sizeof buffer - used : size;
        memcpy(buffer + used, at, part);
        used += part;
        at += part;
        size -= part;
        if (used == sizeof buffer)
            flush();
    }
}

bool leaks_writer_open(const char *folder, int32_t process, uint32_t number)
{
    if (strlen(folder) + 64 > PATH_SIZE)
        return false;
    char *at = put_text(path, folder);
    at = put_number(put_text(at, "/spwalk-"), (uint32_t)process);
    at = put_number(put_text(at, "-"), number);
    memcpy(new_path, path, sizeof path);
    put_text(new_path + (at - path), ".new");
    put_text(at, LEAKS_SUFFIX);
    used = 0;
    has_failed = false;
    /* The folder may be everybody's: no file of another one's is opened. */
    sp_syscall6(SYS_unlink, (long)new_path, 0, 0, 0, 0, 0);
    file = sp_syscall6(SYS_open, (long)new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0, 0, 0);
    return file >= 0;
}

void leaks_writer_put(enum leaks_item_type type, const void *fixed, size_t fixed_size, const void *more,
                      size_t more_size)
{
    static const char padding[8];
    struct leaks_item item = {.type = type, .size = (uint32_t)(fixed_size + more_size)};
    append(&item, sizeof item);
    append(fixed, fixed_size);
    append(more, more_size);
    append(padding, -item.size & 7u);
}

bool leaks_writer_close(char *result)
{
    leaks_writer_put(LEAKS_ITEM_END, NULL, 0, NULL, 0);
    flush();
    sp_syscall6(SYS_close, file, 0, 0, 0, 0, 0);
    file = -1;
    has_failed = has_failed || sp_syscall6(SYS_rename, (long)new_path, (long)path, 0, 0, 0, 0) != 0;
    if (has_failed)
        sp_syscall6(SYS_unlink, (long)new_path, 0, 0, 0, 0, 0);
    else if (result != NULL)
        memcpy(result, path, PATH_SIZE);
    return !has_failed;
}
