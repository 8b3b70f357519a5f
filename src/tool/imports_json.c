/* SPDX-License-Identifier: MIT */
#include "imports_profile.h"

#include "json_text.h"

static json_t *texts(char *const *items, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, sp_json_text(items[i]));
    return array;
}

static json_t *milliseconds(uint64_t nanoseconds)
{
    return json_real((double)nanoseconds / 1e6);
}

static json_t *first_call(const struct imports_library *library)
{
    if (!library->has_first)
        return json_null();
    json_t *stack = json_array();
    for (size_t i = 0; i < library->depth; i++)
        json_array_append_new(stack, json_pack("{s:o, s:o}", "address",
                                               json_sprintf("0x%llx", (unsigned long long)library->stack_addresses[i]),
                                               "frame", sp_json_text(library->stack[i])));
    return json_pack("{s:o, s:o, s:o, s:i, s:o, s:b}", "function", sp_json_text(library->first_function), "user",
                     sp_json_text(library->first_user), "ms", milliseconds(library->first_time), "process",
                     library->first_process, "stack", stack, "stack_is_cut", (int)library->stack_is_cut);
}

static json_t *rows(const struct imports_row *items, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct imports_row *row = &items[i];
        uint32_t reason = row->flags & IMPORTS_DATA ? 0 : imports_row_reason(row);
        bool counted = row->flags & IMPORTS_COUNTED;
        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:o, s:s, s:o, s:o}", "name", sp_json_text(row->name), "version",
                                        sp_json_text(row->version), "user", sp_json_text(row->user), "type",
                                        row->flags & IMPORTS_DATA ? "variable" : "function", "calls",
                                        counted ? json_integer((json_int_t)row->calls) : json_null(), "not_counted",
                                        reason ? sp_json_text(imports_reason_text(reason)) : json_null()));
    }
    return array;
}

static json_t *library_object(const struct imports_library *library, bool functions)
{
    json_t *object = json_pack(
        "{s:o, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:s, s:o}", "name", sp_json_text(library->name),
        "path", sp_json_text(library->path), "needed", library->needed, "calls", (json_int_t)library->calls,
        "functions_called", (json_int_t)library->called, "functions_imported", (json_int_t)library->functions,
        "variables_imported", (json_int_t)library->variables, "variables_copied", (json_int_t)library->copied,
        "thread_variables_imported", (json_int_t)library->thread_variables, "first_call", first_call(library),
        "constructors", texts(library->constructors, library->constructor_count), "compiler_constructors",
        (json_int_t)library->plain_constructors, "verdict", imports_verdict_word(library->verdict), "reasons",
        texts(library->reasons, library->reason_count));
    if (object)
        json_object_set_new(object, "constructors_not_named", json_integer((json_int_t)library->more_constructors));
    if (object && functions)
        json_object_set_new(object, "imports", rows(library->rows, library->row_count));
    return object;
}

static json_t *program_object(const struct imports_profile *profile, bool functions)
{
    json_t *libraries = json_array();
    for (size_t i = 0; i < profile->library_count; i++)
        json_array_append_new(libraries, library_object(&profile->libraries[i], functions));
    return json_pack("{s:o, s:i, s:i, s:i, s:I, s:o, s:o, s:i, s:o, s:o}", "program", sp_json_text(profile->program),
                     "process", profile->process, "images", (int)profile->images, "processes", (int)profile->processes,
                     "calls", (json_int_t)profile->calls, "main_ms",
                     profile->main_time ? milliseconds(profile->main_time) : json_null(), "setup_ms",
                     milliseconds(profile->setup_time), "lost", (int)profile->lost, "libraries", libraries, "not_bound",
                     rows(profile->unbound, profile->unbound_count));
}

int imports_show_json(FILE *out, const struct imports_profiles *profiles, bool functions)
{
    json_t *programs = json_array();
    for (size_t i = 0; i < profiles->count; i++)
        json_array_append_new(programs, program_object(&profiles->items[i], functions));
    json_t *document = json_pack("{s:o}", "programs", programs);
    int result = document && json_dumpf(document, out, JSON_INDENT(2)) == 0 ? 0 : -1;
    if (result == 0)
        fputc('\n', out);
    json_decref(document);
    return result;
}
