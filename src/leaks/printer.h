/* SPDX-License-Identifier: MIT */
/*
 * Who prints a data file: the tool, where it started the program and waits for it. In a program that is only linked
 * with the library nobody does, so the tool is run on each file.
 */
#ifndef SPWALK_LEAKS_PRINTER_H
#define SPWALK_LEAKS_PRINTER_H

#include <stdbool.h>

void leaks_printer_start(bool has_tool, char **environment);

/* The folder for data files: given, or where that is empty one of the printer's own; NULL where there is none. */
const char *leaks_printer_folder(const char *given);

/* Has a file printed, and waits until that is done. Async-signal-safe. */
void leaks_printer_print(const char *path);

/* Whether the program's malloc is another than ours. */
bool leaks_is_bypassed(void);

#endif
