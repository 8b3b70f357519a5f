/* SPDX-License-Identifier: MIT */
/* A data file as it is written: under another name until it is complete. No function of the C library is called. */
#ifndef SPWALK_LEAKS_WRITER_H
#define SPWALK_LEAKS_WRITER_H

#include "leaks/data.h"

#include <stdbool.h>
#include <stddef.h>

/* Creates FOLDER/PROCESS-NUMBER.new. Only one file is written at a time. */
bool leaks_writer_open(const char *folder, int32_t process, uint32_t number);

/* Appends an item of a fixed part and a part of any length. What fails is told by leaks_writer_close. */
void leaks_writer_put(enum leaks_item_type type, const void *fixed, size_t fixed_size, const void *more,
                      size_t more_size);

/* Ends the file with a LEAKS_ITEM_END and gives it its name, PROCESS-NUMBER.leaks; path: 4096 bytes for it, or NULL.
 * Where anything failed it is removed. */
bool leaks_writer_close(char *path);

#endif
