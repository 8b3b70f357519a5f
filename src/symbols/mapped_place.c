/* SPDX-License-Identifier: MIT */
#include "mapped_place.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "dynamic_symbols.h"
#include "map_load.h"
#include "module/module.h"
#include "segments.h"

static const char *path_of(const struct sp_module *module)
{
    const struct link_map *entry = module->loader_entry;
    if (entry != NULL && entry->l_name != NULL && entry->l_name[0] != '\0')
        return entry->l_name;
    return program_invocation_name;
}

static bool name_from_dynamic_symbols(const struct sp_segments *segments, uint64_t address,
                                      struct sp_mapped_place *place)
{
    struct sp_dynamic_symbols dynamic;
    struct sp_candidate function;
    if (!sp_dynamic_symbols_open(segments, &dynamic) || !sp_dynamic_symbols_find(&dynamic, address, &function))
        return false;
    size_t length = function.name_length;
    if (length >= sizeof place->function)
        length = sizeof place->function - 1;
    memcpy(place->function, function.name, length);
    place->function[length] = '\0';
    place->function_offset = place->module_offset - function.start;
    return true;
}

static void name_from_map(const struct sp_module *module, const struct sp_segments *segments, uint64_t address,
                          struct sp_mapped_place *place)
{
    const uint8_t *build_id = NULL;
    uint32_t build_id_size = 0;
    for (unsigned i = 0; i < module->phnum && build_id == NULL; i++)
        build_id = sp_segments_build_id(segments, &module->phdr[i], &build_id_size);
    const struct sp_map_view *map = sp_map_loaded(place->module, build_id, build_id_size);
    struct sp_map_function function;
    enum sp_miss miss;
    if (map == NULL || !sp_map_view_find(map, address, &function, &miss))
        return;
    sp_map_view_name(map, &function, place->function, sizeof place->function);
    place->function_offset = place->module_offset - function.start;
}

bool sp_mapped_place_find(uintptr_t pc, unsigned before, struct sp_mapped_place *place)
{
    struct sp_module module;
    if (!sp_module_find(pc - before, &module) || (module.phdr == NULL && !sp_module_read_headers(&module)))
        return false;
    place->module = path_of(&module);
    place->module_offset = pc - module.bias;
    place->function[0] = '\0';
    place->function_offset = 0;
    struct sp_segments segments = {.bias = module.bias};
    for (unsigned i = 0; i < module.phnum; i++)
        sp_segments_add(&segments, &module.phdr[i], (const uint8_t *)(module.bias + module.phdr[i].p_vaddr),
                        module.phdr[i].p_memsz);
    if (!name_from_dynamic_symbols(&segments, place->module_offset - before, place))
        name_from_map(&module, &segments, place->module_offset - before, place);
    return true;
}

bool sp_is_signal_return(uintptr_t pc)
{
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    struct sp_module module;
    uintptr_t low, high;
    if (!sp_module_find(pc, &module) || (module.phdr == NULL && !sp_module_read_headers(&module)))
        return false;
    return sp_module_segment(&module, pc, PF_R | PF_X, &low, &high) && high - pc >= sizeof code &&
           memcmp((const void *)pc, code, sizeof code) == 0;
}
