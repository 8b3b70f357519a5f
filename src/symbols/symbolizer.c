/* SPDX-License-Identifier: MIT */
#include "symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "map_load.h"
#include "module_list.h"
#include "object.h"
#include "string_pool.h"

struct sp_symbolizer {
    unsigned flags;
    char *debug_path;
    struct sp_object **objects;
    size_t object_count;
    struct sp_modules *process; /* this process's modules at counts */
    struct sp_module_counts counts;
    struct sp_string_pool strings;
    struct sp_location_list locations; /* of the last answer, as is build_id */
    uint8_t build_id[SP_BUILD_ID_MAX];
};

struct sp_symbolizer *sp_symbolizer_new(unsigned flags, const char *debug_path)
{
    struct sp_symbolizer *symbolizer = calloc(1, sizeof *symbolizer);
    if (symbolizer == NULL)
        return NULL;
    symbolizer->flags = flags;
    symbolizer->debug_path = strdup(debug_path == NULL ? "/usr/lib/debug" : debug_path);
    if (symbolizer->debug_path == NULL) {
        free(symbolizer);
        return NULL;
    }
    return symbolizer;
}

void sp_symbolizer_free(struct sp_symbolizer *symbolizer)
{
    if (symbolizer == NULL)
        return;
    for (size_t i = 0; i < symbolizer->object_count; i++)
        sp_object_close(symbolizer->objects[i]);
    free(symbolizer->objects);
    sp_modules_free(symbolizer->process);
    sp_string_pool_free(&symbolizer->strings);
    free(symbolizer->locations.locations);
    free(symbolizer->debug_path);
    free(symbolizer);
}

static const char *keep(struct sp_symbolizer *symbolizer, const char *text)
{
    return text == NULL ? NULL : sp_string_pool_keep(&symbolizer->strings, text, strlen(text));
}

/* A name as it is to be shown; NULL where memory is short. */
static const char *shown(struct sp_symbolizer *symbolizer, const char *name)
{
    char *demangled = (symbolizer->flags & SP_DEMANGLE) != 0 ? sp_demangle(name) : NULL;
    if (demangled == NULL)
        return name;
    const char *kept = keep(symbolizer, demangled);
    free(demangled);
    return kept;
}

/*
 * The process's modules as they are now. A list that has to be taken anew may name a file that was written over since
 * it was read: what was read of it is then of no use, and stays only for the strings that were given out.
 */
static const struct sp_modules *process_modules(struct sp_symbolizer *symbolizer)
{
    struct sp_module_counts now = sp_module_counts_now();
    if (symbolizer->process != NULL && now.loaded == symbolizer->counts.loaded &&
        now.unloaded == symbolizer->counts.unloaded)
        return symbolizer->process;
    struct sp_modules *modules = sp_modules_now();
    if (modules == NULL)
        return NULL;
    sp_modules_free(symbolizer->process);
    symbolizer->process = modules;
    symbolizer->counts = now;
    for (size_t i = 0; i < symbolizer->object_count;) {
        struct sp_object *object = symbolizer->objects[i];
        struct sp_loaded_module self = {
            .path = object->path, .build_id = object->build_id, .build_id_size = object->build_id_size};
        if (sp_object_is(object, &self, true)) {
            i++;
            continue;
        }
        sp_object_close(object);
        symbolizer->objects[i] = symbolizer->objects[--symbolizer->object_count];
    }
    return modules;
}

static struct sp_object *object_of(struct sp_symbolizer *symbolizer, const struct sp_loaded_module *module)
{
    for (size_t i = 0; i < symbolizer->object_count; i++)
        if (sp_object_is(symbolizer->objects[i], module, false))
            return symbolizer->objects[i];
    struct sp_object **moved =
        realloc(symbolizer->objects, (symbolizer->object_count + 1) * sizeof *symbolizer->objects);
    if (moved == NULL)
        return NULL;
    symbolizer->objects = moved;
    struct sp_object *object =
        sp_object_open(module, (symbolizer->flags & SP_NO_DEBUG_FILES) == 0, symbolizer->debug_path);
    if (object != NULL)
        symbolizer->objects[symbolizer->object_count++] = object;
    return object;
}

/* As the process has it, else as the file has it. */
static void fill_build_id(struct sp_symbolizer *symbolizer, const struct sp_loaded_module *module,
                          const struct sp_object *object, struct sp_symbol *symbol)
{
    const uint8_t *id = module->build_id;
    size_t size = module->build_id_size;
    if (size == 0 && object->file != NULL) {
        id = object->file->build_id;
        size = object->file->build_id_size;
    }
    if (size == 0 || size > sizeof symbolizer->build_id)
        return;
    memcpy(symbolizer->build_id, id, size);
    symbol->build_id = symbolizer->build_id;
    symbol->build_id_size = size;
}

static int fill_name(struct sp_symbolizer *symbolizer, const char *name, size_t length, uint64_t start, uint64_t size,
                     struct sp_symbol *symbol)
{
    const char *kept = sp_string_pool_keep(&symbolizer->strings, name, length);
    symbol->function = kept == NULL ? NULL : shown(symbolizer, kept);
    symbol->function_offset = symbol->module_offset - start;
    symbol->function_size = size;
    return symbol->function == NULL ? -1 : 0;
}

static int fill_function_of_map(struct sp_symbolizer *symbolizer, const struct sp_map_view *map, uint64_t address,
                                struct sp_symbol *symbol)
{
    struct sp_map_function function;
    enum sp_miss miss;
    bool found = sp_map_view_find(map, address, &function, &miss);
    if (symbol->miss == SP_MISS_NO_SYMBOLS || symbol->miss == SP_MISS_UNREADABLE || found)
        symbol->miss = miss;
    else if (symbol->miss != miss)
        symbol->miss = SP_MISS_GAP; /* both have functions, on different sides */
    if (!found && (symbolizer->flags & SP_NEAREST) != 0)
        found = sp_map_view_below(map, address, &function);
    if (!found)
        return 0;
    uint64_t length = sp_map_view_name(map, &function, NULL, 0);
    char *name = malloc(length + 1);
    if (name == NULL)
        return -1;
    sp_map_view_name(map, &function, name, length + 1);
    symbol->source = SP_SOURCE_MAP;
    int status = fill_name(symbolizer, name, length, function.start, function.size, symbol);
    free(name);
    return status;
}

static int fill_function(struct sp_symbolizer *symbolizer, const struct sp_object *object,
                         const struct sp_map_view *map, uint64_t address, struct sp_symbol *symbol)
{
    const struct sp_candidate *function = sp_object_function(object, address, &symbol->source, &symbol->miss);
    if (function == NULL && map != NULL) {
        if (fill_function_of_map(symbolizer, map, address, symbol) != 0)
            return -1;
        if (symbol->function != NULL)
            return 0;
    }
    if (function == NULL && (symbolizer->flags & SP_NEAREST) != 0)
        function = sp_object_below(object, address, &symbol->source);
    if (function == NULL)
        return 0;
    return fill_name(symbolizer, function->name, function->name_length, function->start, function->size, symbol);
}

/* A map has no inlined functions: one location. */
static int fill_location_of_map(struct sp_symbolizer *symbolizer, const struct sp_map_view *map, uint64_t address,
                                struct sp_symbol *symbol)
{
    struct sp_map_bytes file;
    struct sp_location location = {.function = symbol->function};
    if (!sp_map_view_line(map, address, &file, &location.line))
        return 0;
    location.file = sp_string_pool_keep(&symbolizer->strings, (const char *)file.bytes, file.size);
    symbolizer->locations.count = 0;
    if (location.file == NULL || sp_location_list_add(&symbolizer->locations, &location) != 0)
        return -1;
    symbol->locations = symbolizer->locations.locations;
    symbol->location_count = 1;
    return 0;
}

static int fill_locations(struct sp_symbolizer *symbolizer, struct sp_object *object, uint64_t address,
                          struct sp_symbol *symbol)
{
    struct sp_lines *lines = sp_object_lines(object);
    if (lines == NULL)
        return 0;
    struct sp_location_list *list = &symbolizer->locations;
    if (sp_lines_find(lines, address, &symbolizer->strings, list) != 0)
        return -1;
    if (list->count == 0)
        return 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->locations[i].function;
        if (name != NULL && (list->locations[i].function = shown(symbolizer, name)) == NULL)
            return -1;
    }
    /* Code of an assembler has lines, and its functions are symbols alone. */
    if (list->locations[list->count - 1].function == NULL)
        list->locations[list->count - 1].function = symbol->function;
    symbol->locations = list->locations;
    symbol->location_count = list->count;
    return 0;
}

static int fill_note(struct sp_symbolizer *symbolizer, const struct sp_object *object, struct sp_symbol *symbol)
{
    const char *damage = object->damage;
    if (damage == NULL && object->lines != NULL)
        damage = sp_lines_damage(object->lines);
    const char *note = damage != NULL ? damage : object->note;
    symbol->damaged = damage != NULL || object->file == NULL;
    symbol->note = keep(symbolizer, note);
    return note != NULL && symbol->note == NULL ? -1 : 0;
}

static int out_of_memory(void)
{
    errno = ENOMEM;
    return -1;
}

int sp_symbolize(struct sp_symbolizer *symbolizer, const struct sp_modules *modules, uintptr_t pc, int interrupted,
                 struct sp_symbol *symbol)
{
    if (symbolizer == NULL || symbol == NULL) {
        errno = EINVAL;
        return -1;
    }
    *symbol = (struct sp_symbol){.pc = pc, .miss = SP_MISS_NO_MODULE};
    if (modules == NULL && (modules = process_modules(symbolizer)) == NULL)
        return out_of_memory();
    uintptr_t looked_up = interrupted || pc == 0 ? pc : pc - 1;
    const struct sp_loaded_module *module = sp_modules_find(modules, looked_up);
    if (module == NULL)
        return 0;
    struct sp_object *object = object_of(symbolizer, module);
    if (object == NULL)
        return out_of_memory();
    symbol->module = keep(symbolizer, module->path);
    fill_build_id(symbolizer, module, object, symbol);
    symbol->module_offset = pc - module->bias;
    uint64_t address = looked_up - module->bias;
    const struct sp_map_view *map = sp_map_loaded(module->path, symbol->build_id, symbol->build_id_size);
    if (symbol->module == NULL || fill_function(symbolizer, object, map, address, symbol) != 0)
        return out_of_memory();
    if ((symbolizer->flags & SP_LINES) != 0) {
        if (fill_locations(symbolizer, object, address, symbol) != 0)
            return out_of_memory();
        if (symbol->location_count == 0 && map != NULL && fill_location_of_map(symbolizer, map, address, symbol) != 0)
            return out_of_memory();
    }
    if (fill_note(symbolizer, object, symbol) != 0)
        return out_of_memory();
    return symbol->miss == SP_MISS_NONE;
}

int sp_symbolize_by_map(struct sp_symbolizer *symbolizer, const struct sp_map_view *map, uintptr_t pc, int interrupted,
                        struct sp_symbol *symbol)
{
    uint64_t address = interrupted || pc == 0 ? pc : pc - 1;
    *symbol = (struct sp_symbol){.pc = pc, .module_offset = pc, .miss = SP_MISS_NO_SYMBOLS};
    if (map->build_id.size <= sizeof symbolizer->build_id && map->build_id.size > 0) {
        memcpy(symbolizer->build_id, map->build_id.bytes, map->build_id.size);
        symbol->build_id = symbolizer->build_id;
        symbol->build_id_size = map->build_id.size;
    }
    if (fill_function_of_map(symbolizer, map, address, symbol) != 0)
        return out_of_memory();
    if ((symbolizer->flags & SP_LINES) != 0 && fill_location_of_map(symbolizer, map, address, symbol) != 0)
        return out_of_memory();
    if (symbol->miss == SP_MISS_UNREADABLE) {
        symbol->note = "the map is damaged at this address";
        symbol->damaged = 1;
    }
    return symbol->miss == SP_MISS_NONE;
}
