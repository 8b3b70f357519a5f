/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: arbitrary bytes as an ELF file: its symbols in all forms, its frame records and their proof.
 *
 * Sources: tests/fuzz/elf_input.c src/symbols/debugdata.c src/symbols/demangle.c src/symbols/dwarf_scopes.c
 * Sources: src/symbols/dynamic_symbols.c src/symbols/elf_file.c src/symbols/function_table.c src/symbols/lines.c
 * Sources: src/symbols/map_load.c src/symbols/map_view.c src/symbols/module_list.c src/symbols/object.c
 * Sources: src/symbols/ranges.c src/symbols/segments.c src/symbols/separate_debug.c src/symbols/string_pool.c
 * Sources: src/symbols/symbolizer.c src/symbols/why.c src/tool/image.c src/tool/frames_records.c
 * Sources: src/tool/frames_check.c src/code/instruction.c src/code/opcodes.c src/code/operation.c
 * Sources: src/cfi/encoding.c src/cfi/expression.c src/cfi/fde.c src/cfi/program.c src/cfi/search.c
 * Libraries: -D_GNU_SOURCE -Wl,--wrap=sp_elf_open -ldw -lelf -llzma
 * Longest: 8192
 */
#include "elf_input.h"
#include "symbols/elf_file.h"
#include "tool/frames.h"
#include "word/record.h"

#include <spwalk_symbols.h>
#include <stdlib.h>
#include <string.h>

static void name(struct sp_symbolizer *symbolizer, const struct sp_modules *modules, uintptr_t pc)
{
    struct sp_symbol symbol;
    int status = sp_symbolize(symbolizer, modules, pc, 1, &symbol);
    if (status < 0 || (status == 1) != (symbol.miss == SP_MISS_NONE) || (status == 1 && symbol.function == NULL) ||
        symbol.module == NULL || symbol.location_count != 0)
        abort();
    if (status == 1 && symbol.function_size != 0 && symbol.function_offset >= symbol.function_size)
        abort();
}

static void name_all(void)
{
    struct sp_modules *modules = sp_modules_new();
    struct sp_symbolizer *symbolizer = sp_symbolizer_new(SP_DEMANGLE | SP_NEAREST, "");
    if (modules == NULL || symbolizer == NULL)
        abort();
    if (sp_modules_add(modules, &(struct sp_loaded_module){.path = INPUT_PATH}) == 0) {
        const struct sp_loaded_module *module = sp_modules_get(modules, 0);
        uintptr_t step = (module->end - module->start) / 6 + 1;
        for (uintptr_t i = 0; i < 6 && i * step < module->end - module->start; i++)
            name(symbolizer, modules, module->start + i * step);
        name(symbolizer, modules, module->end - 1);
    }
    sp_symbolizer_free(symbolizer);
    sp_modules_free(modules);
}

static void on_finding(void *context, const struct sp_frame_record *record, uint64_t address, enum sp_proof proof,
                       const char *what)
{
    (void)context;
    (void)record;
    (void)address;
    if (proof > SP_WRONG || what == NULL)
        abort();
}

static void check_frames(void)
{
    struct sp_image image = {0};
    struct sp_frame_records records = {0};
    struct sp_frames_check check = {.image = &image};
    char *why = NULL;
    struct sp_elf *file = sp_elf_open(INPUT_PATH, &why);
    if (file != NULL && sp_image_load(file, &image, &why) == 0 &&
        sp_frame_records_read(file, &image, &records, &why) == 0 && sp_image_cfi(file, &image, &check.tables))
        for (size_t i = 0; i < records.count; i++)
            sp_frames_check_record(&check, &records.records[i], on_finding, NULL);
    free(records.records);
    sp_image_free(&image);
    sp_elf_close(file);
    free(why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_elf_input(data, size);
    name_all();
    if (memmem(data, size, SP_NOTE_OWNER, sizeof SP_NOTE_OWNER) != NULL)
        check_frames();
    return 0;
}
