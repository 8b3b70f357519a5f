/* SPDX-License-Identifier: MIT */
/* RFC 4180: a header, a line a record, every text quoted. */
#include "imports_profile.h"

static void put(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
}

static void quote(FILE *out, const char *text)
{
    fputc('"', out);
    put(out, text);
    fputs("\",", out);
}

static void show_library(FILE *out, const struct imports_profile *profile, const struct imports_library *library)
{
    quote(out, profile->program);
    quote(out, library->name);
    quote(out, library->path);
    fprintf(out, "%llu,%zu,%zu,", (unsigned long long)library->calls, library->called, library->functions);
    fprintf(out, "%zu,", library->variables + library->copied + library->thread_variables);
    if (library->has_first)
        fprintf(out, "%.6f,", (double)library->first_time / 1e6);
    else
        fputc(',', out);
    quote(out, library->has_first ? library->first_function : "");
    fprintf(out, "%s,\"", imports_verdict_word(library->verdict));
    for (size_t i = 0; i < library->reason_count; i++) {
        fputs(i ? "; " : "", out);
        put(out, library->reasons[i]);
    }
    fputs("\"\r\n", out);
}

static void show_rows(FILE *out, const struct imports_profile *profile, const struct imports_library *library)
{
    for (size_t i = 0; i < library->row_count; i++) {
        const struct imports_row *row = &library->rows[i];
        uint32_t reason = imports_row_reason(row);
        quote(out, profile->program);
        quote(out, library->name);
        quote(out, row->user);
        quote(out, row->name);
        quote(out, row->version);
        fprintf(out, "%s,", row->flags & IMPORTS_DATA ? "variable" : "function");
        if (row->flags & IMPORTS_COUNTED)
            fprintf(out, "%llu", (unsigned long long)row->calls);
        fprintf(out, ",\"%s\"\r\n", reason && !(row->flags & IMPORTS_DATA) ? imports_reason_text(reason) : "");
    }
}

void imports_show_csv(FILE *out, const struct imports_profiles *profiles, bool functions)
{
    fputs(functions ? "program,library,user,symbol,version,type,calls,not_counted\r\n"
                    : "program,library,path,calls,functions_called,functions_imported,variables_imported,"
                      "first_call_ms,first_function,verdict,reasons\r\n",
          out);
    for (size_t i = 0; i < profiles->count; i++) {
        const struct imports_profile *profile = &profiles->items[i];
        for (size_t j = 0; j < profile->library_count; j++)
            (functions ? show_rows : show_library)(out, profile, &profile->libraries[j]);
    }
}
