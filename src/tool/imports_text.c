/* SPDX-License-Identifier: MIT */
#include "imports_profile.h"

#include <string.h>

static void show_verdict(FILE *out, const struct imports_library *library)
{
    fprintf(out, "%43s%s", "", imports_verdict_text(library->verdict));
    for (size_t i = 0; i < library->reason_count && library->verdict == IMPORTS_VERDICT_UNSAFE; i++)
        fprintf(out, "%s%s", i ? "; " : "", library->reasons[i]);
    fputc('\n', out);
}

static void show_libraries(FILE *out, const struct imports_profile *profile)
{
    fprintf(out, "%14s  %11s  %12s  %s\n", "calls", "functions", "first call", "library");
    for (size_t i = 0; i < profile->library_count; i++) {
        const struct imports_library *library = &profile->libraries[i];
        char first[32] = "-", functions[32];
        if (library->has_first)
            snprintf(first, sizeof first, "%.2f ms", (double)library->first_time / 1e6);
        snprintf(functions, sizeof functions, "%zu/%zu", library->called, library->functions);
        fprintf(out, "%14llu  %11s  %12s  %s\n", (unsigned long long)library->calls, functions, first, library->name);
        show_verdict(out, library);
    }
}

static void show_functions(FILE *out, const struct imports_profile *profile)
{
    for (size_t i = 0; i < profile->library_count; i++) {
        const struct imports_library *library = &profile->libraries[i];
        fprintf(out, "\nfunctions of %s (%s):\n", library->name, library->path);
        for (size_t j = 0; j < library->row_count; j++) {
            const struct imports_row *row = &library->rows[j];
            if (row->flags & IMPORTS_DATA)
                fprintf(out, "%14s  ", "variable");
            else if (!(row->flags & IMPORTS_COUNTED))
                fprintf(out, "%14s  ", "not counted");
            else
                fprintf(out, "%14llu  ", (unsigned long long)row->calls);
            fprintf(out, "%s%s%s, by %s\n", row->name, *row->version ? "@" : "", row->version, row->user);
        }
    }
}

static void show_first_calls(FILE *out, const struct imports_profile *profile)
{
    for (size_t i = 0; i < profile->library_count; i++) {
        const struct imports_library *library = &profile->libraries[i];
        if (library->has_first) {
            fprintf(out, "\nfirst call into %s: %s by %s, after %.2f ms in process %d\n", library->name,
                    library->first_function, library->first_user, (double)library->first_time / 1e6,
                    library->first_process);
            for (size_t j = 0; j < library->depth; j++)
                fprintf(out, "    #%-2zu %s\n", j, library->stack[j]);
            if (library->stack_is_cut)
                fputs("    ... outer frames are missing\n", out);
        }
        if (!library->constructor_count && !library->plain_constructors && !library->more_constructors)
            continue;
        fprintf(out, "%sconstructors of %s:", library->has_first ? "" : "\n", library->name);
        for (size_t j = 0; j < library->constructor_count; j++)
            fprintf(out, "%s %s", j ? "," : "", library->constructors[j]);
        if (library->more_constructors)
            fprintf(out, " and %zu more", library->more_constructors);
        else if (!library->constructor_count)
            fputs(" none but the compiler's own", out);
        fputc('\n', out);
    }
}

static void show_uncounted(FILE *out, const struct imports_profile *profile)
{
    bool any = false;
    for (size_t i = 0; i < profile->library_count; i++)
        for (size_t j = 0; j < profile->libraries[i].row_count; j++) {
            const struct imports_row *row = &profile->libraries[i].rows[j];
            uint32_t reason = imports_row_reason(row);
            if (row->flags & IMPORTS_DATA || !reason)
                continue;
            fprintf(out, "%s    %s of %s, by %s: %s\n", any ? "" : "\nnot counted, or not all of it:\n", row->name,
                    profile->libraries[i].name, row->user, imports_reason_text(reason));
            any = true;
        }
    for (size_t i = 0; i < profile->unbound_count; i++) {
        const struct imports_row *row = &profile->unbound[i];
        const char *reason =
            row->reason ? imports_reason_text(row->reason) : "no library that was loaded at the start defines it";
        fputs(any ? "" : "\nnot counted, or not all of it:\n", out);
        if (*row->name)
            fprintf(out, "    %s, by %s: %s (%llu calls)\n", row->name, row->user, reason,
                    (unsigned long long)row->calls);
        else
            fprintf(out, "    all imports by %s: %s\n", row->user, reason);
        any = true;
    }
    if (profile->lost)
        fprintf(out, "%s    %u objects or names, for which the report had no room\n",
                any ? "" : "\nnot counted, or not all of it:\n", profile->lost);
}

void imports_show_text(FILE *out, const struct imports_profile *profile, bool functions)
{
    fprintf(out, "%s: process %d, %llu calls", profile->program, profile->process, (unsigned long long)profile->calls);
    if (profile->images > 1)
        fprintf(out, ", run %u times", profile->images);
    if (profile->processes > profile->images)
        fprintf(out, ", %u forked processes counted with it", profile->processes - profile->images);
    if (profile->main_time)
        fprintf(out, ", main entered after %.2f ms\n\n", (double)profile->main_time / 1e6);
    else
        fprintf(out, ", main not entered%s\n\n", profile->is_program_counted ? "" : " as far as was seen");
    show_libraries(out, profile);
    show_first_calls(out, profile);
    if (functions)
        show_functions(out, profile);
    show_uncounted(out, profile);
}
