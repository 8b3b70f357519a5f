/* SPDX-License-Identifier: MIT */
/* A report file (imports/report.h) as the tool reads it, whole and checked. */
#ifndef SPWALK_IMPORTS_REPORT_FILE_H
#define SPWALK_IMPORTS_REPORT_FILE_H

#include <stdint.h>

#include "imports/report.h"

struct imports_report_file {
    struct imports_report header;
    struct imports_object *objects;
    struct imports_import *imports;
    char *strings;
    uint64_t *counts; /* one an import: the sum over all threads and forks */
};

/* Returns 0, or -1 with a line on stderr. */
int imports_report_read(const char *path, struct imports_report_file *file);
void imports_report_free(struct imports_report_file *file);

/* The string at an offset of the report; "" where it is out of bounds. */
const char *imports_report_text(const struct imports_report_file *file, uint32_t offset);

#endif
