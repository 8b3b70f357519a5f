/* SPDX-License-Identifier: MIT */
/* What runs in the counted program before anything of its own does. */
#include "imports/collect.h"
#include "imports/counter.h"
#include "imports/file.h"
#include "imports/loaded.h"
#include "imports/opened.h"
#include "imports/redirect.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *value_of(char **environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static bool read_options(const char *folder, struct imports_options *options)
{
    char name[4096];
    if (snprintf(name, sizeof name, "%s/options", folder) >= (int)sizeof name)
        return false;
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t size = read(file, options, sizeof *options);
    close(file);
    return size == (ssize_t)sizeof *options && options->magic == IMPORTS_MAGIC;
}

/*
 * Makes the environment what it was without us. Our own library is the first word of LD_PRELOAD. What else was in
 * LD_PRELOAD stays, and the tool then gave a second variable of its own, so that two entries are removed in any case:
 * the room of two is that of an auxiliary vector entry to be ignored, for those who look for the vector behind the
 * environment.
 */
static void hide(char **environment)
{
    char **kept = environment, **entry = environment;
    for (; *entry; entry++) {
        if (strncmp(*entry, IMPORTS_ENVIRONMENT, strlen(IMPORTS_ENVIRONMENT)) == 0)
            continue;
        if (strncmp(*entry, "LD_PRELOAD=", 11) == 0) {
            char *rest = strpbrk(*entry + 11, ": ");
            if (!rest)
                continue;
            memmove(*entry + 11, rest + 1, strlen(rest + 1) + 1);
        }
        *kept++ = *entry;
    }
    size_t removed = (size_t)(entry - kept);
    *kept++ = NULL;
    for (; removed >= 2; removed -= 2) {
        *kept++ = (char *)AT_IGNORE;
        *kept++ = NULL;
    }
    if (removed)
        *kept = NULL;
}

/* How many imports there may be, in all objects or in the program alone, which is the first. */
struct room {
    size_t imports;
    bool all;
};

static int add_room(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct room *room = argument;
    struct object view;
    if (imports_object_view(info, &view))
        room->imports += imports_collect_most(&view);
    return !room->all;
}

/* Room for what is loaded now, and where libraries that are opened later are counted for as much again, and more. */
static uint32_t room_for_imports(bool all)
{
    struct room room = {0, all};
    dl_iterate_phdr(add_room, &room);
    size_t wanted = all ? 2 * room.imports + IMPORTS_IMPORTS_MAX / 4 : room.imports + 64;
    return (uint32_t)(wanted < IMPORTS_IMPORTS_MAX ? wanted : IMPORTS_IMPORTS_MAX);
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
    (void)argc, (void)argv;
    static struct imports_options options;
    uint64_t begin = imports_now();
    const char *folder = value_of(environment, IMPORTS_ENVIRONMENT);
    if (!folder || !read_options(folder, &options))
        return;
    bool watch = options.all || *options.from;
    if (!imports_file_create(folder, room_for_imports(watch)))
        return;
    imports_report->start_time = begin;
    if (value_of(environment, "LD_AUDIT") || value_of(environment, "LD_PROFILE"))
        imports_redirect_audited();
    if (!options.follow)
        hide(environment);
    imports_loaded_options(&options);
    imports_counter_start();
    imports_loaded_update(false);
    for (size_t i = 0; i < imports_loaded_count; i++) {
        imports_loaded[i].prepared = true;
        if (imports_loaded[i].selected || imports_objects[i].flags & IMPORTS_OBJECT_MAIN)
            imports_redirect(i);
    }
    if (watch && !imports_watch_opened())
        imports_report->lost++;
    imports_report->setup_time = imports_now() - begin;
}
