/* SPDX-License-Identifier: MIT */
/*
 * Suppressions as LeakSanitizer has them: a line "leak:PATTERN"; a stack is left out where PATTERN occurs in the name,
 * the source file or the module of one of its frames. '*' in it stands for anything, '^' at its start and '$' at its
 * end bind it there. Empty lines and those that begin with '#' are comments.
 */
#include "leaks_profile.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static int add(struct leaks_suppressions *suppressions, const char *text)
{
    bool from_start = *text == '^';
    text += from_start;
    size_t size = strlen(text);
    bool to_end = size > 0 && text[size - 1] == '$';
    char *pattern = malloc(2 * size + 3), *end = pattern;
    struct leaks_suppression *items = realloc(suppressions->items, (suppressions->count + 1) * sizeof *items);
    if (items != NULL)
        suppressions->items = items;
    if (pattern == NULL || items == NULL) {
        free(pattern);
        return -1;
    }
    if (!from_start)
        *end++ = '*';
    for (size_t i = 0; i < size - to_end; i++) {
        if (strchr("?[]\\", text[i]) != NULL)
            *end++ = '\\';
        *end++ = text[i];
    }
    if (!to_end)
        *end++ = '*';
    *end = '\0';
    items[suppressions->count++] = (struct leaks_suppression){.pattern = pattern};
    return 0;
}

int leaks_suppressions_read(struct leaks_suppressions *suppressions, const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int result = 0;
    if (file == NULL) {
        sp_complain("%s: %s", path, strerror(errno));
        return -1;
    }
    for (int number = 1; result == 0 && getline(&line, &room, file) >= 0; number++) {
        char *start = line + strspn(line, " \t");
        start[strcspn(start, "\r\n")] = '\0';
        if (*start == '\0' || *start == '#')
            continue;
        if (strncmp(start, "leak:", 5) != 0 || start[5] == '\0') {
            sp_complain("%s:%d: '%s' is not leak:PATTERN", path, number, start);
            result = -1;
        } else if (add(suppressions, start + 5) != 0) {
            sp_complain("%s: out of memory", path);
            result = -1;
        }
    }
    if (result == 0 && ferror(file)) {
        sp_complain("%s: %s", path, strerror(errno));
        result = -1;
    }
    free(line);
    fclose(file);
    return result;
}

static bool matches(const char *pattern, const char *text)
{
    return text != NULL && fnmatch(pattern, text, 0) == 0;
}

struct leaks_suppression *leaks_suppressions_find(struct leaks_suppressions *suppressions,
                                                  const struct leaks_named_stack *stack)
{
    for (size_t i = 0; i < suppressions->count; i++)
        for (size_t j = 0; j < stack->count; j++) {
            const struct leaks_frame *frame = &stack->frames[j];
            const char *pattern = suppressions->items[i].pattern;
            if (matches(pattern, frame->function) || matches(pattern, frame->file) || matches(pattern, frame->module))
                return &suppressions->items[i];
        }
    return NULL;
}

void leaks_suppressions_free(struct leaks_suppressions *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++)
        free(suppressions->items[i].pattern);
    free(suppressions->items);
    memset(suppressions, 0, sizeof *suppressions);
}
