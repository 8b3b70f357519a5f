/* SPDX-License-Identifier: MIT */
#include "imports/scope.h"
#include "imports/file.h"
#include "imports/loaded.h"

#include <string.h>

/* The order of the search for one user, which is good as long as no object comes or goes. */
static struct {
    size_t user;
    unsigned generation;
    size_t order[IMPORTS_OBJECTS_MAX];
    size_t count;
    bool is_in[IMPORTS_OBJECTS_MAX];
} scope;
static void extend_scope(size_t index)
{
    if (scope.is_in[index] || imports_loaded[index].closed)
        return;
    scope.is_in[index] = true;
    scope.order[scope.count++] = index;
}

static bool is_called(size_t index, const char *name)
{
    const char *path = imports_loaded[index].view.path, *slash = strrchr(path, '/');
    return strcmp(imports_loaded[index].view.soname, name) == 0 || strcmp(slash ? slash + 1 : path, name) == 0 ||
           strcmp(path, name) == 0;
}

static void extend_scope_by_needed(const struct object *view)
{
    for (const Elf64_Dyn *entry = view->dynamic; entry->d_tag != DT_NULL; entry++)
        for (size_t i = 0; entry->d_tag == DT_NEEDED && i < imports_loaded_count; i++)
            if (!imports_loaded[i].closed && is_called(i, view->strings + entry->d_un.d_val))
                extend_scope(i);
}

static void make_scope(size_t user)
{
    if (scope.generation == imports_loaded_generation && scope.user == user)
        return;
    scope.user = user;
    scope.generation = imports_loaded_generation;
    scope.count = 0;
    memset(scope.is_in, 0, sizeof scope.is_in);
    for (size_t i = 0; i < imports_loaded_count; i++)
        if (!(imports_objects[i].flags & IMPORTS_OBJECT_OPENED))
            extend_scope(i);
    size_t own = scope.count;
    extend_scope(user);
    for (; own < scope.count; own++)
        extend_scope_by_needed(&imports_loaded[scope.order[own]].view);
    for (size_t i = 0; i < imports_loaded_count; i++)
        extend_scope(i);
}

const Elf64_Sym *imports_scope_resolve(size_t user, size_t index, bool elsewhere, uint32_t *provider)
{
    const struct object *view = &imports_loaded[user].view;
    const char *name = view->strings + view->symbols[index].st_name;
    const char *version = imports_symbol_version(view, index);
    const Elf64_Sym *found = NULL;
    if (view->symbolic && !elsewhere && (found = imports_find_definition(view, name, version))) {
        *provider = (uint32_t)user + 1;
        return found;
    }
    make_scope(user);
    for (size_t i = 0; i < scope.count; i++) {
        if (elsewhere && scope.order[i] == user)
            continue;
        if ((found = imports_find_definition(&imports_loaded[scope.order[i]].view, name, version))) {
            *provider = (uint32_t)scope.order[i] + 1;
            return found;
        }
    }
    *provider = 0;
    return NULL;
}
