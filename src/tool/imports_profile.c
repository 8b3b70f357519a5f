/* SPDX-License-Identifier: MIT */
#include "imports_profile.h"
#include "imports_facts.h"
#include "imports_report_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

void *imports_grow(void *array, size_t count, size_t size)
{
    /* Powers of two: the array is full exactly when count is one, or 0. */
    if (count & (count - 1))
        return array;
    void *grown = realloc(array, (count ? count * 2 : 1) * size);
    if (!grown) {
        sp_complain("out of memory");
        exit(SP_EXIT_BAD_INPUT);
    }
    return grown;
}

static char *copy(const char *text)
{
    char *result = strdup(text);
    if (!result) {
        sp_complain("out of memory");
        exit(SP_EXIT_BAD_INPUT);
    }
    return result;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct imports_profile *profile_of(struct imports_profiles *profiles, const char *program)
{
    for (size_t i = 0; i < profiles->count; i++)
        if (strcmp(profiles->items[i].program, program) == 0)
            return &profiles->items[i];
    profiles->items = imports_grow(profiles->items, profiles->count, sizeof *profiles->items);
    struct imports_profile *profile = &profiles->items[profiles->count++];
    *profile = (struct imports_profile){.program = copy(program)};
    return profile;
}

static struct imports_library *library_of(struct imports_profile *profile, const char *path, const char *soname)
{
    for (size_t i = 0; i < profile->library_count; i++)
        if (strcmp(profile->libraries[i].path, path) == 0)
            return &profile->libraries[i];
    profile->libraries = imports_grow(profile->libraries, profile->library_count, sizeof *profile->libraries);
    struct imports_library *library = &profile->libraries[profile->library_count++];
    *library = (struct imports_library){.path = copy(path), .name = copy(*soname ? soname : file_name(path))};
    return library;
}

static void add_row(struct imports_row **rows, size_t *count, const struct imports_report_file *report, size_t number)
{
    const struct imports_import *import = &report->imports[number];
    const char *user = "";
    if (import->object < report->header.object_count)
        user = imports_report_text(report, report->objects[import->object].path);
    *rows = imports_grow(*rows, *count, sizeof **rows);
    (*rows)[(*count)++] = (struct imports_row){
        .name = copy(imports_report_text(report, import->name)),
        .version = copy(imports_report_text(report, import->version)),
        .user = copy(file_name(user)),
        .calls = report->counts[number],
        .flags = import->flags,
        .reason = import->reason,
    };
}

/* Names addresses of the counted process. */
struct naming {
    struct sp_modules *modules;
    struct sp_symbolizer *symbolizer;
};

static struct naming naming_of(const struct imports_report_file *report)
{
    struct naming naming = {sp_modules_new(), sp_symbolizer_new(SP_DEMANGLE, NULL)};
    /* Objects that are loaded come first: one that was closed may have been where another is. */
    for (unsigned closed = 0; naming.modules && closed <= IMPORTS_OBJECT_CLOSED; closed += IMPORTS_OBJECT_CLOSED)
        for (size_t i = 0; i < report->header.object_count; i++) {
            const struct imports_object *object = &report->objects[i];
            if (!object->ready || (object->flags & IMPORTS_OBJECT_CLOSED) != closed)
                continue;
            struct sp_loaded_module module = {.path = imports_report_text(report, object->path),
                                              .start = object->start,
                                              .end = object->end,
                                              .bias = object->bias};
            sp_modules_add(naming.modules, &module);
        }
    return naming;
}

/* "function+0x12 (file)", "file+0x1234", or the bare address. */
static char *name_address(const struct naming *naming, uint64_t address, bool interrupted, bool offset)
{
    struct sp_symbol symbol;
    char *text = NULL;
    int length = -1;
    int found = naming->modules && naming->symbolizer
                    ? sp_symbolize(naming->symbolizer, naming->modules, address, interrupted, &symbol)
                    : -1;
    if (found > 0 && offset)
        length = asprintf(&text, "%s+0x%llx (%s)", symbol.function, (unsigned long long)symbol.function_offset,
                          file_name(symbol.module));
    else if (found > 0)
        return copy(symbol.function);
    else if (found == 0 && symbol.module)
        length = asprintf(&text, "%s+0x%llx", file_name(symbol.module), (unsigned long long)symbol.module_offset);
    else
        length = asprintf(&text, "0x%llx", (unsigned long long)address);
    return length < 0 ? copy("?") : text;
}

static void take_first_call(struct imports_library *library, const struct imports_object *object,
                            const struct imports_report_file *report, const struct naming *naming)
{
    if (object->called != 2 || (library->has_first && library->first_time <= object->first_time))
        return;
    if (object->first_depth < 0 || object->first_depth > IMPORTS_STACK_MAX ||
        object->first_import >= report->header.import_count)
        return;
    for (size_t i = 0; i < library->depth; i++)
        free(library->stack[i]);
    free(library->first_function);
    free(library->first_user);
    const struct imports_import *import = &report->imports[object->first_import];
    library->has_first = true;
    library->first_time = object->first_time;
    library->first_process = object->first_process;
    library->first_function = copy(imports_report_text(report, import->name));
    library->first_user = copy(import->object < report->header.object_count
                                   ? file_name(imports_report_text(report, report->objects[import->object].path))
                                   : "");
    library->depth = 0;
    library->stack_is_cut = object->first_is_cut != 0;
    for (int i = 0; i < object->first_depth; i++) {
        library->stack = imports_grow(library->stack, library->depth, sizeof *library->stack);
        library->stack_addresses =
            imports_grow(library->stack_addresses, library->depth, sizeof *library->stack_addresses);
        library->stack_addresses[library->depth] = object->first_stack[i];
        library->stack[library->depth++] = name_address(naming, object->first_stack[i], false, true);
    }
}

static void take_constructors(struct imports_library *library, const struct imports_object *object,
                              const struct naming *naming)
{
    if (library->constructor_count || library->plain_constructors || object->constructor_count == 0)
        return;
    struct imports_facts *facts = imports_facts_open(library->path);
    for (uint32_t i = 0; i < object->constructor_count && i < IMPORTS_CONSTRUCTORS_MAX; i++) {
        uint64_t address = object->constructors[i];
        if (facts && imports_facts_plain_constructor(facts, address - object->bias)) {
            library->plain_constructors++;
            continue;
        }
        library->constructors = imports_grow(library->constructors, library->constructor_count, sizeof(char *));
        library->constructors[library->constructor_count++] = name_address(naming, address, true, false);
    }
    if (object->constructor_count > IMPORTS_CONSTRUCTORS_MAX)
        library->more_constructors = object->constructor_count - IMPORTS_CONSTRUCTORS_MAX;
    imports_facts_close(facts);
}

static bool is_needed(const struct imports_facts *facts, const char *name)
{
    const char *needed;
    for (size_t i = 0; facts && (needed = imports_facts_needed(facts, i)); i++)
        if (strcmp(needed, name) == 0)
            return true;
    return false;
}

/* Whether the object has a row even if nothing is imported from it. */
static bool listed(const struct imports_object *object, const struct imports_library *library, bool all)
{
    if (object->flags & (IMPORTS_OBJECT_OWN | IMPORTS_OBJECT_VDSO | IMPORTS_OBJECT_MAIN))
        return false;
    return library->needed || (all && !(object->flags & IMPORTS_OBJECT_LINKER));
}

static void add_libraries(struct imports_profile *profile, const struct imports_report_file *report, bool all)
{
    struct naming naming = naming_of(report);
    struct imports_facts *program = imports_facts_open(profile->program);
    size_t count = report->header.object_count;
    bool *used = calloc(count + 1, sizeof *used);
    for (size_t i = 0; used && i < report->header.import_count; i++)
        if (report->imports[i].ready && report->imports[i].reason != IMPORTS_REASON_FILTERED &&
            report->imports[i].provider <= count)
            used[report->imports[i].provider] = true;
    for (size_t i = 0; used && i < count; i++) {
        const struct imports_object *object = &report->objects[i];
        const char *path = imports_report_text(report, object->path);
        const char *soname = imports_report_text(report, object->soname);
        struct imports_library sample = {.needed = is_needed(program, *soname ? soname : file_name(path))};
        if (!object->ready || !(object->flags & IMPORTS_OBJECT_WANTED) ||
            (!used[i + 1] && !listed(object, &sample, all)))
            continue;
        struct imports_library *library = library_of(profile, path, soname);
        library->flags |= object->flags;
        library->needed |= sample.needed;
        take_first_call(library, object, report, &naming);
        take_constructors(library, object, &naming);
    }
    free(used);
    imports_facts_close(program);
    sp_symbolizer_free(naming.symbolizer);
    sp_modules_free(naming.modules);
}

static void add_files(struct imports_profile *profile, const struct imports_report_file *report)
{
    if (profile->file_count)
        return;
    for (size_t i = 0; i < report->header.object_count; i++) {
        const struct imports_object *object = &report->objects[i];
        const char *path = imports_report_text(report, object->path), *soname;
        if (!object->ready || object->flags & (IMPORTS_OBJECT_OWN | IMPORTS_OBJECT_VDSO | IMPORTS_OBJECT_OPENED))
            continue;
        soname = imports_report_text(report, object->soname);
        profile->files = imports_grow(profile->files, profile->file_count, sizeof *profile->files);
        profile->files[profile->file_count++] =
            (struct imports_loaded_file){copy(path), copy(*soname ? soname : file_name(path)), object->flags};
    }
}

static void add_imports(struct imports_profile *profile, const struct imports_report_file *report)
{
    for (size_t i = 0; i < report->header.import_count; i++) {
        const struct imports_import *import = &report->imports[i];
        if (!import->ready || import->reason == IMPORTS_REASON_FILTERED)
            continue;
        if (!import->provider || import->provider > report->header.object_count) {
            bool is_all = *imports_report_text(report, import->name) == '\0';
            if (is_all && import->object == 0)
                profile->is_program_counted = false;
            if (!(import->flags & IMPORTS_WEAK) || is_all)
                add_row(&profile->unbound, &profile->unbound_count, report, i);
            continue;
        }
        const struct imports_object *object = &report->objects[import->provider - 1];
        struct imports_library *library =
            library_of(profile, imports_report_text(report, object->path), imports_report_text(report, object->soname));
        add_row(&library->rows, &library->row_count, report, i);
    }
}

int imports_profile_add(struct imports_profiles *profiles, const char *path, bool all,
                        struct imports_patterns *patterns)
{
    struct imports_report_file report;
    if (imports_report_read(path, &report) != 0)
        return -1;
    const char *program = report.header.object_count ? imports_report_text(&report, report.objects[0].path) : "";
    struct imports_profile *profile = profile_of(profiles, program);
    if (profile->images++ == 0 || report.header.start_time < profile->start_time) {
        profile->start_time = report.header.start_time;
        profile->process = report.header.process;
        profile->main_time = report.header.main_time;
        profile->setup_time = report.header.setup_time;
    }
    profile->is_program_counted = report.header.object_count && report.objects[0].flags & IMPORTS_OBJECT_SELECTED;
    profile->processes += report.header.processes;
    profile->lost += report.header.lost;
    imports_patterns_see(patterns, &report);
    add_files(profile, &report);
    add_libraries(profile, &report, all);
    add_imports(profile, &report);
    imports_report_free(&report);
    return 0;
}

static void free_rows(struct imports_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(rows[i].name);
        free(rows[i].version);
        free(rows[i].user);
    }
    free(rows);
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

static void free_profile(struct imports_profile *profile)
{
    for (size_t i = 0; i < profile->library_count; i++) {
        struct imports_library *library = &profile->libraries[i];
        free_rows(library->rows, library->row_count);
        free_texts(library->stack, library->depth);
        free_texts(library->constructors, library->constructor_count);
        free_texts(library->reasons, library->reason_count);
        free(library->stack_addresses);
        free(library->first_function);
        free(library->first_user);
        free(library->path);
        free(library->name);
    }
    free(profile->libraries);
    for (size_t i = 0; i < profile->file_count; i++) {
        free(profile->files[i].path);
        free(profile->files[i].name);
    }
    free(profile->files);
    free_rows(profile->unbound, profile->unbound_count);
    free(profile->program);
}

void imports_profiles_free(struct imports_profiles *profiles)
{
    for (size_t i = 0; i < profiles->count; i++)
        free_profile(&profiles->items[i]);
    free(profiles->items);
    *profiles = (struct imports_profiles){0};
}
