/* SPDX-License-Identifier: MIT */
#include "line_buffer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void put_bytes(struct sp_line_buffer *line, const char *bytes, size_t count)
{
    size_t room = sizeof line->text - 1 - line->length; /* the last byte is the newline's */
    if (count > room)
        count = room;
    memcpy(line->text + line->length, bytes, count);
    line->length += count;
}

void sp_line_put(struct sp_line_buffer *line, const char *text)
{
    put_bytes(line, text, strlen(text));
}

void sp_line_put_number(struct sp_line_buffer *line, uint64_t value, unsigned base, unsigned least_digits)
{
    char digits[20];
    unsigned count = 0;
    do
        digits[sizeof digits - ++count] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0 || count < least_digits);
    put_bytes(line, digits + sizeof digits - count, count);
}

bool sp_line_write(struct sp_line_buffer *line, int fd)
{
    line->text[line->length++] = '\n';
    for (size_t done = 0; done < line->length;) {
        ssize_t written = write(fd, line->text + done, line->length - done);
        if (written < 0 && errno != EINTR)
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}
