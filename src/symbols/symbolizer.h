/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_SYMBOLIZER_H
#define SPWALK_SYMBOLIZER_H

#include <spwalk_symbols.h>

#include "map_view.h"

/* As sp_symbolize, by a name map alone, which stands for the module: pc is a virtual address of its file. */
int sp_symbolize_by_map(struct sp_symbolizer *symbolizer, const struct sp_map_view *map, uintptr_t pc, int interrupted,
                        struct sp_symbol *symbol);

#endif
