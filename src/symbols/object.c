/* SPDX-License-Identifier: MIT */
#include "object.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "separate_debug.h"
#include "why.h"

/* The vdso is an ELF file that lies in memory alone. */
static struct sp_elf *open_vdso(const struct sp_loaded_module *module, char **why)
{
    const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    if (image == NULL || strncmp(module->path, "linux-vdso", 10) != 0)
        return NULL;
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    return sp_elf_from_memory(image, header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize, "vdso", why);
}

static int add_table(struct sp_object *object, const struct sp_elf *file, uint32_t type, enum sp_source source)
{
    if (object->table_count == SP_OBJECT_TABLES)
        return 0;
    struct sp_function_table *table = &object->tables[object->table_count].functions;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(file->elf, section)) != NULL) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != type)
            continue;
        bool partial = source == SP_SOURCE_DYNSYM || source == SP_SOURCE_DEBUGDATA;
        if (sp_function_table_read(file, section, &header, partial, table) != 0)
            return -1;
        break;
    }
    if (section == NULL && source == SP_SOURCE_DYNSYM) {
        struct sp_segments segments;
        sp_elf_segments(file, &segments);
        if (sp_function_table_read_dynamic(&segments, table) != 0)
            return -1;
    }
    if (table->ranges.count == 0) {
        sp_function_table_free(table);
        return 0;
    }
    object->tables[object->table_count++].source = source;
    const struct sp_ranges *ranges = &table->ranges;
    if (ranges->ranges[0].start < object->low)
        object->low = ranges->ranges[0].start;
    if (ranges->ranges[ranges->count - 1].end > object->high)
        object->high = ranges->ranges[ranges->count - 1].end;
    return 0;
}

static int read_sources(struct sp_object *object, bool follow, const char *debug_path)
{
    if (add_table(object, object->file, SHT_SYMTAB, SP_SOURCE_SYMTAB) != 0)
        return -1;
    bool has_symtab = object->table_count > 0;
    if (follow && (!has_symtab || !sp_elf_has_dwarf(object->file))) {
        object->debug_file = sp_separate_debug_open(object->file, debug_path, &object->note);
        if (object->debug_file != NULL && !has_symtab &&
            add_table(object, object->debug_file, SHT_SYMTAB, SP_SOURCE_DEBUG_FILE) != 0)
            return -1;
    }
    if (object->table_count == 0) {
        object->debugdata = sp_debugdata_open(object->file, &object->damage);
        if (object->debugdata != NULL && add_table(object, object->debugdata, SHT_SYMTAB, SP_SOURCE_DEBUGDATA) != 0)
            return -1;
    }
    return has_symtab ? 0 : add_table(object, object->file, SHT_DYNSYM, SP_SOURCE_DYNSYM);
}

struct sp_object *sp_object_open(const struct sp_loaded_module *module, bool follow, const char *debug_path)
{
    struct sp_object *object = calloc(1, sizeof *object);
    if (object == NULL || (object->path = strdup(module->path)) == NULL) {
        free(object);
        return NULL;
    }
    object->low = UINT64_MAX;
    if (module->build_id_size <= sizeof object->build_id && module->build_id_size > 0) {
        memcpy(object->build_id, module->build_id, module->build_id_size);
        object->build_id_size = module->build_id_size;
    }
    struct stat status;
    if (stat(module->path, &status) == 0) {
        object->device = status.st_dev;
        object->inode = status.st_ino;
        object->changed = status.st_mtim;
    }
    object->file = open_vdso(module, &object->note);
    if (object->file == NULL)
        object->file = sp_elf_open(module->path, &object->note);
    if (object->file == NULL)
        return object;
    if (sp_build_ids_differ(object->build_id, object->build_id_size, object->file->build_id,
                            object->file->build_id_size)) {
        char wanted[2 * SP_BUILD_ID_MAX + 1], has[2 * SP_BUILD_ID_MAX + 1];
        sp_build_id_text(object->build_id, object->build_id_size, wanted, sizeof wanted);
        sp_build_id_text(object->file->build_id, object->file->build_id_size, has, sizeof has);
        sp_why(&object->note, "%s: refused: its build-id is %s, that of the loaded module %s", module->path, has,
               wanted);
        sp_elf_close(object->file);
        object->file = NULL;
        return object;
    }
    if (read_sources(object, follow, debug_path) != 0) {
        sp_object_close(object);
        return NULL;
    }
    return object;
}

bool sp_object_is(const struct sp_object *object, const struct sp_loaded_module *module, bool checked)
{
    struct stat status;
    if (strcmp(object->path, module->path) != 0 || object->build_id_size != module->build_id_size ||
        (module->build_id_size > 0 && memcmp(object->build_id, module->build_id, module->build_id_size) != 0))
        return false;
    return !checked || stat(module->path, &status) != 0 ||
           (object->device == status.st_dev && object->inode == status.st_ino &&
            object->changed.tv_sec == status.st_mtim.tv_sec && object->changed.tv_nsec == status.st_mtim.tv_nsec);
}

const struct sp_candidate *sp_object_function(const struct sp_object *object, uint64_t address, enum sp_source *source,
                                              enum sp_miss *miss)
{
    *source = SP_SOURCE_NONE;
    *miss = SP_MISS_NONE;
    for (size_t i = 0; i < object->table_count; i++) {
        const struct sp_candidate *function = sp_function_table_find(&object->tables[i].functions, address);
        if (function != NULL) {
            *source = object->tables[i].source;
            return function;
        }
    }
    /* A stripped file's .dynsym has what it exports: nothing is known of what lies around that. */
    bool stripped = object->table_count == 1 && object->tables[0].source == SP_SOURCE_DYNSYM;
    *miss = object->file == NULL                   ? SP_MISS_UNREADABLE
            : object->table_count == 0 || stripped ? SP_MISS_NO_SYMBOLS
            : address < object->low                ? SP_MISS_BEFORE_FIRST
            : address >= object->high              ? SP_MISS_AFTER_LAST
                                                   : SP_MISS_GAP;
    return NULL;
}

const struct sp_candidate *sp_object_below(const struct sp_object *object, uint64_t address, enum sp_source *source)
{
    const struct sp_candidate *nearest = NULL;
    for (size_t i = 0; i < object->table_count; i++) {
        const struct sp_candidate *function = sp_function_table_below(&object->tables[i].functions, address);
        if (function != NULL && (nearest == NULL || function->start > nearest->start)) {
            nearest = function;
            *source = object->tables[i].source;
        }
    }
    return nearest;
}

struct sp_lines *sp_object_lines(struct sp_object *object)
{
    if (object->lines_tried || object->file == NULL)
        return object->lines;
    object->lines_tried = true;
    if (sp_elf_has_dwarf(object->file))
        object->lines = sp_lines_open(object->file, &object->damage);
    else if (object->debug_file != NULL && sp_elf_has_dwarf(object->debug_file))
        object->lines = sp_lines_open(object->debug_file, &object->damage);
    return object->lines;
}

void sp_object_close(struct sp_object *object)
{
    if (object == NULL)
        return;
    sp_lines_close(object->lines);
    for (size_t i = 0; i < SP_OBJECT_TABLES; i++)
        sp_function_table_free(&object->tables[i].functions);
    sp_elf_close(object->debugdata);
    sp_elf_close(object->debug_file);
    sp_elf_close(object->file);
    free(object->note);
    free(object->damage);
    free(object->path);
    free(object);
}
