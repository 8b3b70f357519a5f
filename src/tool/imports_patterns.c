/* SPDX-License-Identifier: MIT */
#include "imports_patterns.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "imports_profile.h"

void imports_patterns_add(struct imports_patterns *patterns, const char *option, const char *text)
{
    patterns->items = imports_grow(patterns->items, patterns->count, sizeof *patterns->items);
    patterns->items[patterns->count++] = (struct imports_pattern){option, text, false};
}

/* As the preloaded part asks it (imports/loaded.c). */
static bool matches(const char *pattern, const char *path, const char *soname)
{
    const char *slash = strrchr(path, '/');
    return fnmatch(pattern, path, 0) == 0 || fnmatch(pattern, slash ? slash + 1 : path, 0) == 0 ||
           fnmatch(pattern, soname, 0) == 0;
}

void imports_patterns_see(struct imports_patterns *patterns, const struct imports_report_file *report)
{
    for (size_t i = 0; i < report->header.object_count; i++) {
        const struct imports_object *object = &report->objects[i];
        if (!object->ready || object->flags & (IMPORTS_OBJECT_OWN | IMPORTS_OBJECT_VDSO))
            continue;
        for (size_t j = 0; j < patterns->count; j++)
            if (matches(patterns->items[j].text, imports_report_text(report, object->path),
                        imports_report_text(report, object->soname)))
                patterns->items[j].matched = true;
    }
}

void imports_patterns_complain(const struct imports_patterns *patterns, bool all)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (!patterns->items[i].matched)
            sp_complain("%s=%s matches no library that was loaded%s", patterns->items[i].option,
                        patterns->items[i].text, all ? "" : " at the start; --all looks at those opened later, too");
}

void imports_patterns_free(struct imports_patterns *patterns)
{
    free(patterns->items);
    *patterns = (struct imports_patterns){0};
}
