/* SPDX-License-Identifier: MIT */
/* The patterns of --from and --to, and whether they matched anything: a mistyped one makes an empty report. */
#ifndef SPWALK_IMPORTS_PATTERNS_H
#define SPWALK_IMPORTS_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "imports_report_file.h"

struct imports_pattern {
    const char *option; /* "--from" or "--to" */
    const char *text;
    bool matched;
};

struct imports_patterns {
    struct imports_pattern *items;
    size_t count;
};

/* option, text: kept as they are, not copied. */
void imports_patterns_add(struct imports_patterns *patterns, const char *option, const char *text);

/* Notes which patterns match an object of a report. */
void imports_patterns_see(struct imports_patterns *patterns, const struct imports_report_file *report);

/* Says on stderr which matched nothing. all: objects that were opened at run time were looked at, too. */
void imports_patterns_complain(const struct imports_patterns *patterns, bool all);

void imports_patterns_free(struct imports_patterns *patterns);

#endif
