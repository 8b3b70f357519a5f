/* SPDX-License-Identifier: MIT */
/* How spwalk symbolize shows what it found about an address. */
#ifndef SPWALK_SYMBOLIZE_H
#define SPWALK_SYMBOLIZE_H

#include <spwalk_symbols.h>
#include <stdbool.h>
#include <stdio.h>

struct sp_style {
    bool addresses; /* as addr2line's options of these names */
    bool functions;
    bool inlines;
    bool pretty;
    bool basenames;
    bool columns;
    bool json;
};

/* In addr2line's form. */
void sp_show_text(FILE *out, const struct sp_style *style, const struct sp_symbol *symbol);

/* In the same form, an answer for a word that none could be found for. */
void sp_show_unknown(FILE *out, const struct sp_style *style, const char *word);

/* As one JSON object on a line of its own. Returns 0, or -1 where memory is short. */
int sp_show_json(FILE *out, const struct sp_symbol *symbol);

#endif
