/* SPDX-License-Identifier: MIT */
#include "imports/loaded.h"
#include "imports/file.h"
#include "imports/stub.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct loaded imports_loaded[IMPORTS_OBJECTS_MAX];
size_t imports_loaded_count;
unsigned imports_loaded_generation;

static struct imports_options options;

void imports_loaded_options(const struct imports_options *given)
{
    options = *given;
}

/* Whether one of the patterns (each ended by '\n') matches the object's path, its file name or its DT_SONAME. */
static bool matches(const char *patterns, const struct imports_object *object)
{
    const char *path = imports_file_text(object->path), *slash = strrchr(path, '/');
    char pattern[IMPORTS_PATTERNS_MAX];
    for (const char *end; (end = strchr(patterns, '\n')); patterns = end + 1) {
        memcpy(pattern, patterns, (size_t)(end - patterns));
        pattern[end - patterns] = '\0';
        if (fnmatch(pattern, path, 0) == 0 || fnmatch(pattern, slash ? slash + 1 : path, 0) == 0 ||
            fnmatch(pattern, imports_file_text(object->soname), 0) == 0)
            return true;
    }
    return false;
}

static bool selects(const struct imports_object *object)
{
    if (object->flags & (IMPORTS_OBJECT_LINKER | IMPORTS_OBJECT_OWN | IMPORTS_OBJECT_VDSO))
        return false;
    if (*options.from)
        return matches(options.from, object);
    return options.all || object->flags & IMPORTS_OBJECT_MAIN;
}

bool imports_loaded_wanted(size_t provider)
{
    return !*options.to || matches(options.to, &imports_objects[provider]);
}

void imports_loaded_constructors(size_t index)
{
    const struct object *view = &imports_loaded[index].view;
    struct imports_object *record = &imports_objects[index];
    uint32_t count = 0;
    if (view->init)
        record->constructors[count++] = view->init;
    for (size_t i = 0; i < view->init_array_count; i++) {
        if (!view->init_array[i] || view->init_array[i] == UINTPTR_MAX)
            continue;
        if (count < IMPORTS_CONSTRUCTORS_MAX)
            record->constructors[count] = view->init_array[i];
        count++;
    }
    record->constructor_count = count;
}

static uint32_t record_path(const struct object *view, bool main_program)
{
    char path[4096];
    ssize_t length = main_program ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    if (length < 0)
        return imports_file_string(view->path);
    path[length] = '\0';
    return imports_file_string(path);
}

static void enter(size_t index, bool opened)
{
    struct imports_object *record = &imports_objects[index];
    const struct object *view = &imports_loaded[index].view;
    uint32_t flags = opened ? IMPORTS_OBJECT_OPENED : 0;
    if (index == 0 && *view->path == '\0')
        flags |= IMPORTS_OBJECT_MAIN;
    if (imports_object_holds(view, (uintptr_t)&options, 0))
        flags |= IMPORTS_OBJECT_OWN;
    if (view->bias == getauxval(AT_BASE))
        flags |= IMPORTS_OBJECT_LINKER;
    if (view->start == getauxval(AT_SYSINFO_EHDR))
        flags |= IMPORTS_OBJECT_VDSO;
    if (!record->path) {
        record->path = record_path(view, flags & IMPORTS_OBJECT_MAIN);
        record->soname = imports_file_string(view->soname);
    }
    record->bias = view->bias;
    record->start = view->start;
    record->end = view->end;
    record->flags = flags;
    if (!opened)
        imports_loaded_constructors(index);
    imports_loaded[index].selected = selects(record);
    if (imports_loaded[index].selected)
        record->flags |= IMPORTS_OBJECT_SELECTED;
    if (imports_loaded_wanted(index))
        record->flags |= IMPORTS_OBJECT_WANTED;
    record->ready = 1;
    if (imports_report->object_count <= index)
        imports_report->object_count = (uint32_t)index + 1;
}

/* A library that is opened again takes the entry, and so the counts, that it had. */
static size_t entry_for(const struct object *view)
{
    for (size_t i = 0; i < imports_loaded_count; i++)
        if (imports_loaded[i].closed &&
            imports_loaded[i].view.end - imports_loaded[i].view.start == view->end - view->start &&
            strcmp(imports_file_text(imports_objects[i].path), view->path) == 0)
            return i;
    return imports_loaded_count;
}

struct update {
    bool opened;
    size_t first_new;
};

static int add_object(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct update *update = argument;
    struct object view;
    if (!imports_object_view(info, &view))
        return 0;
    for (size_t i = 0; i < imports_loaded_count; i++) {
        struct loaded *known = &imports_loaded[i];
        if (!known->closed && known->view.bias == view.bias && known->view.dynamic == view.dynamic) {
            known->seen = true;
            return 0;
        }
    }
    size_t index = entry_for(&view);
    if (index == IMPORTS_OBJECTS_MAX) {
        imports_report->lost++;
        return 0;
    }
    struct loaded *entry = &imports_loaded[index];
    entry->view = view;
    entry->seen = true;
    entry->closed = entry->prepared = entry->redirected = false;
    entry->stubs = NULL;
    enter(index, update->opened);
    if (index == imports_loaded_count)
        imports_loaded_count++;
    if (index < update->first_new)
        update->first_new = index;
    return 0;
}

size_t imports_loaded_update(bool opened)
{
    struct update update = {opened, SIZE_MAX};
    imports_loaded_generation++;
    for (size_t i = 0; i < imports_loaded_count; i++)
        imports_loaded[i].seen = false;
    /* An object that is gone must be found out first: another one may be where it was. */
    dl_iterate_phdr(add_object, &update);
    for (size_t i = 0; i < imports_loaded_count; i++) {
        struct loaded *entry = &imports_loaded[i];
        if (entry->seen || entry->closed)
            continue;
        entry->closed = true;
        imports_objects[i].flags |= IMPORTS_OBJECT_CLOSED;
        if (entry->stubs)
            imports_stubs_destroy(entry->stubs);
        entry->stubs = NULL;
    }
    return update.first_new < imports_loaded_count ? update.first_new : imports_loaded_count;
}

uint32_t imports_loaded_owner(uintptr_t address)
{
    for (size_t i = 0; i < imports_loaded_count; i++) {
        const struct loaded *entry = &imports_loaded[i];
        if (!entry->closed && address >= entry->view.start && address < entry->view.end &&
            imports_object_holds(&entry->view, address, 0))
            return (uint32_t)i + 1;
    }
    return 0;
}

uintptr_t imports_call_target(uint32_t import)
{
    const struct loaded *entry = &imports_loaded[imports_imports[import].object];
    return entry->stubs->targets[import - entry->first_import];
}
