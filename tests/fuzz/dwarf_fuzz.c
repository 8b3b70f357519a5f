/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: arbitrary bytes as an ELF file with debugging information: lines and inlined functions at some
 * addresses, and all rows as for a name map.
 *
 * libdw is used as it is installed, without a sanitizer, and is not what is tested: where a damaged file makes libdw
 * itself fail, that is elfutils' to mend.
 *
 * Sources: tests/fuzz/elf_input.c src/symbols/debugdata.c src/symbols/demangle.c src/symbols/dwarf_scopes.c
 * Sources: src/symbols/dynamic_symbols.c src/symbols/elf_file.c src/symbols/function_table.c src/symbols/lines.c
 * Sources: src/symbols/map_load.c src/symbols/map_view.c src/symbols/module_list.c src/symbols/object.c
 * Sources: src/symbols/ranges.c src/symbols/segments.c src/symbols/separate_debug.c src/symbols/string_pool.c
 * Sources: src/symbols/symbolizer.c src/symbols/why.c src/tool/map_lines.c
 * Libraries: -D_GNU_SOURCE -Wl,--wrap=sp_elf_open -ldw -lelf -llzma
 * Longest: 8192
 */
#include "elf_input.h"
#include "symbols/elf_file.h"
#include "tool/map_lines.h"

#include <spwalk_symbols.h>
#include <stdlib.h>
#include <string.h>

static void name(struct sp_symbolizer *symbolizer, const struct sp_modules *modules, uintptr_t pc)
{
    struct sp_symbol symbol;
    if (sp_symbolize(symbolizer, modules, pc, 1, &symbol) < 0)
        abort();
    for (size_t i = 0; i < symbol.location_count; i++) {
        const struct sp_location *at = &symbol.locations[i];
        volatile size_t length =
            (at->function == NULL ? 0 : strlen(at->function)) + (at->file == NULL ? 0 : strlen(at->file));
        (void)length;
    }
}

static void name_all(void)
{
    struct sp_modules *modules = sp_modules_new();
    struct sp_symbolizer *symbolizer = sp_symbolizer_new(SP_LINES, "");
    if (modules == NULL || symbolizer == NULL)
        abort();
    if (sp_modules_add(modules, &(struct sp_loaded_module){.path = INPUT_PATH}) == 0) {
        const struct sp_loaded_module *module = sp_modules_get(modules, 0);
        uintptr_t step = (module->end - module->start) / 8 + 1;
        for (uintptr_t i = 0; i < 8 && i * step < module->end - module->start; i++)
            name(symbolizer, modules, module->start + i * step);
    }
    sp_symbolizer_free(symbolizer);
    sp_modules_free(modules);
}

static void read_rows(void)
{
    struct sp_map_lines rows = {0};
    char *why = NULL;
    struct sp_elf *file = sp_elf_open(INPUT_PATH, &why);
    if (file != NULL && sp_map_lines_read(file, &rows, &why) == 0)
        for (size_t i = 0; i < rows.count; i++)
            if ((i > 0 && rows.rows[i].address <= rows.rows[i - 1].address) ||
                (rows.rows[i].line != 0 && rows.rows[i].file >= rows.file_count))
                abort();
    sp_map_lines_free(&rows);
    sp_elf_close(file);
    free(why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_elf_input(data, size);
    name_all();
    read_rows();
    return 0;
}
