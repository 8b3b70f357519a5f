/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_OUTPUT_FILE_H
#define SPWALK_OUTPUT_FILE_H

#include <stddef.h>

/*
 * Writes a file whole or not at all: beside its place first, then renamed, so that who has the old one mapped keeps it
 * as it was. What is no regular file (a pipe, a symbolic link such as /dev/stdout) is written to as it is.
 * Returns 0, or -1 with *why set.
 */
int sp_output_file_write(const char *path, const void *bytes, size_t size, char **why);

/* Finds out, without changing anything, whether that could be done. Returns 0, or -1 with *why set. */
int sp_output_file_check(const char *path, char **why);

#endif
