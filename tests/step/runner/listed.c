/* SPDX-License-Identifier: MIT */
#include "listed.h"

#include "names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 256

static struct entry {
    char module[64]; /* a file's name, or "*" */
    char function[64];
} entries[ENTRIES];
static int count;

void step_list_read(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "step: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    char line[512];
    for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        char reason[4];
        if (line[0] == '#' || line[0] == '\n')
            continue;
        struct entry *e = &entries[count];
        if (count == ENTRIES || sscanf(line, "%63s %63s %3s", e->module, e->function, reason) != 3) {
            fprintf(stderr, "step: %s:%d: not MODULE FUNCTION REASON\n", path, number);
            exit(2);
        }
        count++;
    }
    fclose(file);
}

/* text: as step_name gives it, MODULE+0x12 (FUNCTION+0x3). "-" is what has no name, and only where it is the walk's
 * only frame. */
static bool is_at(const struct entry *e, const char *text, bool is_only)
{
    size_t module = strlen(e->module), function = strlen(e->function);
    if (strcmp(e->module, "*") != 0 && (strncmp(text, e->module, module) != 0 || text[module] != '+'))
        return false;
    const char *name = strchr(text, '(');
    if (strcmp(e->function, "-") == 0)
        return is_only && name == NULL;
    return name != NULL && strncmp(name + 1, e->function, function) == 0 && name[1 + function] == '+';
}

/* Where a walk is cut further out, it is for what a frame further in is about. */
bool step_list_has(const struct step_area *area, const struct step_finding *finding)
{
    const struct step_chain *walk = &finding->walk;
    for (uint32_t i = 0; i < walk->n && i < STEP_SHOWN; i++) {
        const struct step_shown *f = &walk->frames[i];
        char text[256];
        if (f->module == STEP_NO_MODULE)
            continue;
        step_name(area->paths[f->module], f->interrupted ? f->offset : f->offset - 1, text, sizeof text);
        for (int k = 0; k < count; k++)
            if (is_at(&entries[k], text, walk->n == 1))
                return true;
    }
    return false;
}
