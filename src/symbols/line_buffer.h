/* SPDX-License-Identifier: MIT */
/* A line of text put together and written without stdio. Async-signal-safe. What is too long is cut. */
#ifndef SPWALK_LINE_BUFFER_H
#define SPWALK_LINE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_line_buffer {
    char text[512];
    size_t length;
};

void sp_line_put(struct sp_line_buffer *line, const char *text);

/* In base 10 or 16, with leading zeros up to least_digits. */
void sp_line_put_number(struct sp_line_buffer *line, uint64_t value, unsigned base, unsigned least_digits);

/* Writes the line and its end to fd. Returns false where it cannot be written. */
bool sp_line_write(struct sp_line_buffer *line, int fd);

#endif
