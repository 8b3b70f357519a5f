/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "symbolize.h"

static void show_place(FILE *out, const struct sp_style *style, const struct sp_location *location)
{
    const char *file = location->file == NULL ? "??" : location->file;
    if (style->basenames && strrchr(file, '/') != NULL)
        file = strrchr(file, '/') + 1;
    if (location->file != NULL && location->line == 0)
        fprintf(out, "%s:?", file);
    else
        fprintf(out, "%s:%" PRIu32, file, location->line);
    if (style->columns && location->column != 0)
        fprintf(out, ":%" PRIu32, location->column);
}

static void show_location(FILE *out, const struct sp_style *style, const struct sp_symbol *symbol,
                          const struct sp_location *location)
{
    if (style->functions) {
        fputs(location->function == NULL ? "??" : location->function, out);
        if (symbol->miss != SP_MISS_NONE && location->function == NULL)
            fprintf(out, " (%s)", sp_miss_name(symbol->miss));
        fputs(style->pretty ? " at " : "\n", out);
    }
    show_place(out, style, location);
    fputc('\n', out);
}

void sp_show_unknown(FILE *out, const struct sp_style *style, const char *word)
{
    const struct sp_symbol nothing = {.miss = SP_MISS_NONE};
    const struct sp_location nowhere = {.function = NULL};
    if (style->addresses)
        fprintf(out, "%s%s", word, style->pretty ? ": " : "\n");
    show_location(out, style, &nothing, &nowhere);
}

void sp_show_text(FILE *out, const struct sp_style *style, const struct sp_symbol *symbol)
{
    const struct sp_location plain = {.function = symbol->function};
    const struct sp_location *locations = symbol->location_count == 0 ? &plain : symbol->locations;
    size_t count = symbol->location_count == 0 ? 1 : symbol->location_count;
    if (style->addresses)
        fprintf(out, "0x%016" PRIxPTR "%s", symbol->pc, style->pretty ? ": " : "\n");
    for (size_t i = 0; i < (style->inlines ? count : 1); i++) {
        if (i > 0 && style->pretty)
            fputs(" (inlined by) ", out);
        show_location(out, style, symbol, &locations[i]);
    }
}
