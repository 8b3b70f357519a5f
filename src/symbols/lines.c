/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf_scopes.h"
#include "why.h"

struct unit {
    Dwarf_Die die;    /* has the line table: of a split unit the skeleton */
    Dwarf_Die split;  /* has the functions: the same, or the unit in the .dwo file */
    Dwarf_Off offset; /* die's, by which units are sorted */
    bool has_ranges;
    bool entered;
    struct sp_scopes scopes;
};

struct sp_lines {
    const struct sp_elf *file;
    Dwarf *dwarf;
    struct unit *units;
    size_t count;
    size_t capacity;
    struct sp_ranges ranges; /* item is an index into units */
    char *damage;
};

/*
 * A linker that drops a function leaves its debugging information with an address of 0, or of nearly all ones, which
 * must not be taken for code.
 */
static void drop_discarded(const struct sp_elf *file, struct sp_range_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool executable = false;
        Elf_Scn *section = NULL;
        while (!executable && (section = elf_nextscn(file->elf, section)) != NULL) {
            GElf_Shdr header;
            executable = gelf_getshdr(section, &header) != NULL && (header.sh_flags & SHF_EXECINSTR) != 0 &&
                         list->ranges[i].start - header.sh_addr < header.sh_size;
        }
        if (executable)
            list->ranges[kept++] = list->ranges[i];
    }
    list->count = kept;
}

static struct unit *add_unit(struct sp_lines *lines)
{
    if (lines->count == lines->capacity) {
        size_t capacity = lines->capacity == 0 ? 32 : 2 * lines->capacity;
        struct unit *moved = capacity >= UINT32_MAX ? NULL : realloc(lines->units, capacity * sizeof *moved);
        if (moved == NULL)
            return NULL;
        lines->units = moved;
        lines->capacity = capacity;
    }
    lines->units[lines->count] = (struct unit){0};
    return &lines->units[lines->count++];
}

static struct unit *unit_at(const struct sp_lines *lines, Dwarf_Off offset)
{
    size_t low = 0, high = lines->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->units[middle].offset == offset)
            return &lines->units[middle];
        if (lines->units[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* A unit may lack its own addresses and be in .debug_aranges alone. */
static int add_aranges(struct sp_lines *lines, struct sp_range_list *list)
{
    Dwarf_Aranges *aranges;
    size_t count;
    if (dwarf_getaranges(lines->dwarf, &aranges, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Addr start;
        Dwarf_Word length;
        Dwarf_Off offset;
        if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &length, &offset) != 0)
            continue;
        const struct unit *unit = unit_at(lines, offset);
        if (unit == NULL || unit->has_ranges)
            continue;
        struct sp_range range = {start, start + length, (uint32_t)(unit - lines->units), 0};
        if (sp_range_list_add(list, range) != 0)
            return -1;
    }
    return 0;
}

static int read_units(struct sp_lines *lines)
{
    struct sp_range_list list = {0};
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, split;
    uint8_t type;
    int status = 0;
    bool without = false;
    while (status == 0 && dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        struct unit *added = add_unit(lines);
        if (added == NULL) {
            status = -1;
            break;
        }
        added->die = die;
        added->split = type == DW_UT_skeleton && split.cu != NULL ? split : die;
        added->offset = dwarf_dieoffset(&die);
        int ranges = sp_range_list_add_die(&list, &die, (uint32_t)(lines->count - 1), 0);
        added->has_ranges = ranges > 0;
        without |= ranges == 0;
        status = ranges < 0 ? -1 : 0;
    }
    if (status == 0 && without)
        status = add_aranges(lines, &list);
    drop_discarded(lines->file, &list);
    if (status == 0)
        status = sp_ranges_flatten(list.ranges, list.count, &lines->ranges);
    free(list.ranges);
    return status;
}

struct sp_lines *sp_lines_open(const struct sp_elf *file, char **why)
{
    struct sp_lines *lines = calloc(1, sizeof *lines);
    if (lines == NULL)
        return NULL;
    lines->file = file;
    lines->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (lines->dwarf == NULL) {
        sp_why(why, "%s: debugging information: %s", file->path, dwarf_errmsg(-1));
    } else if (read_units(lines) != 0) {
        sp_why(why, "%s: debugging information: out of memory", file->path);
    } else {
        return lines;
    }
    sp_lines_close(lines);
    return NULL;
}

const char *sp_lines_damage(const struct sp_lines *lines)
{
    return lines->damage;
}

void sp_lines_close(struct sp_lines *lines)
{
    if (lines == NULL)
        return;
    for (size_t i = 0; i < lines->count; i++)
        sp_scopes_free(&lines->units[i].scopes);
    free(lines->units);
    free(lines->ranges.ranges);
    dwarf_end(lines->dwarf);
    free(lines->damage);
    free(lines);
}

static const char *name_of(Dwarf_Die *die)
{
    static const unsigned linkage[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
    for (size_t i = 0; i < sizeof linkage / sizeof linkage[0]; i++) {
        Dwarf_Attribute attribute;
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, linkage[i], &attribute));
        if (name != NULL)
            return name;
    }
    return dwarf_diename(die);
}

/* A file's path as the compiler saw it, made absolute by the folder it was started in. */
static const char *keep_path(struct unit *unit, const char *path, struct sp_string_pool *pool)
{
    Dwarf_Attribute attribute;
    const char *folder = path[0] == '/' ? NULL : dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
    if (folder == NULL)
        return sp_string_pool_keep(pool, path, strlen(path));
    char *joined = NULL;
    int length = asprintf(&joined, "%s/%s", folder, path);
    const char *kept = length < 0 ? NULL : sp_string_pool_keep(pool, joined, (size_t)length);
    if (length >= 0)
        free(joined);
    return kept;
}

/* Where a line number is known its file is kept; -1: memory is short. */
static int set_line(struct unit *unit, uint64_t address, struct sp_string_pool *pool, struct sp_location *location)
{
    Dwarf_Line *row = dwarf_getsrc_die(&unit->die, address);
    const char *path = row == NULL ? NULL : dwarf_linesrc(row, NULL, NULL);
    int line, column;
    if (path == NULL || dwarf_lineno(row, &line) != 0 || dwarf_linecol(row, &column) != 0)
        return 0;
    location->line = (uint32_t)line;
    location->column = (uint32_t)column;
    location->file = keep_path(unit, path, pool);
    return location->file == NULL ? -1 : 0;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* The line of the call that was inlined as die. */
static int set_call(struct unit *unit, Dwarf_Die *die, struct sp_string_pool *pool, struct sp_location *location)
{
    Dwarf_Files *files;
    size_t count;
    location->line = number_of(die, DW_AT_call_line);
    location->column = number_of(die, DW_AT_call_column);
    if (dwarf_getsrcfiles(&unit->split, &files, &count) != 0)
        return 0;
    const char *path = dwarf_filesrc(files, number_of(die, DW_AT_call_file), NULL, NULL);
    if (path == NULL)
        return 0;
    location->file = keep_path(unit, path, pool);
    return location->file == NULL ? -1 : 0;
}

int sp_location_list_add(struct sp_location_list *list, const struct sp_location *location)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        struct sp_location *moved = realloc(list->locations, capacity * sizeof *moved);
        if (moved == NULL)
            return -1;
        list->locations = moved;
        list->capacity = capacity;
    }
    list->locations[list->count++] = *location;
    return 0;
}

/* Reads a unit's functions and lines at the first address in it. */
static int enter(struct sp_lines *lines, struct unit *unit)
{
    Dwarf_Lines *rows;
    size_t count;
    unit->entered = true;
    if (dwarf_hasattr(&unit->die, DW_AT_stmt_list) && dwarf_getsrclines(&unit->die, &rows, &count) != 0)
        sp_why(&lines->damage, "%s: the line table of the unit at 0x%" PRIx64 " in .debug_info is damaged: %s",
               lines->file->path, (uint64_t)unit->offset, dwarf_errmsg(-1));
    return sp_scopes_read(&unit->split, &unit->scopes);
}

int sp_lines_find(struct sp_lines *lines, uint64_t address, struct sp_string_pool *pool, struct sp_location_list *list)
{
    list->count = 0;
    const struct sp_range *range = sp_ranges_find(&lines->ranges, address);
    if (range == NULL)
        return 0;
    struct unit *unit = &lines->units[range->item];
    if (!unit->entered && enter(lines, unit) != 0)
        return -1;
    struct sp_location location = {0};
    if (set_line(unit, address, pool, &location) != 0)
        return -1;
    const struct sp_range *innermost = sp_ranges_find(&unit->scopes.ranges, address);
    uint32_t index = innermost == NULL ? SP_NO_SCOPE : innermost->item;
    if (index == SP_NO_SCOPE)
        return location.file == NULL ? 0 : sp_location_list_add(list, &location);
    while (index != SP_NO_SCOPE) {
        struct sp_scope *scope = &unit->scopes.scopes[index];
        const char *name = name_of(&scope->die);
        if (name != NULL && (location.function = sp_string_pool_keep(pool, name, strlen(name))) == NULL)
            return -1;
        if (sp_location_list_add(list, &location) != 0)
            return -1;
        index = scope->parent;
        location = (struct sp_location){0};
        if (index != SP_NO_SCOPE && set_call(unit, &scope->die, pool, &location) != 0)
            return -1;
    }
    return 0;
}

static int each_row_of(struct sp_lines *lines, struct unit *unit, struct sp_string_pool *pool,
                       sp_row_function *function, void *context)
{
    Dwarf_Lines *rows;
    size_t count;
    if (dwarf_getsrclines(&unit->die, &rows, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *row = dwarf_onesrcline(rows, i);
        Dwarf_Addr address;
        bool end;
        int line, status = 0;
        if (dwarf_lineaddr(row, &address) != 0 || dwarf_lineendsequence(row, &end) != 0 ||
            dwarf_lineno(row, &line) != 0)
            continue;
        /* Rows of dropped functions are at addresses that no unit has. */
        const struct sp_range *range = sp_ranges_find(&lines->ranges, end ? address - 1 : address);
        const char *path = end ? NULL : dwarf_linesrc(row, NULL, NULL);
        if (range == NULL || &lines->units[range->item] != unit)
            continue;
        if (path == NULL)
            status = function(context, address, NULL, 0);
        else if ((path = keep_path(unit, path, pool)) == NULL)
            status = -1;
        else
            status = function(context, address, path, (uint32_t)line);
        if (status != 0)
            return status;
    }
    return 0;
}

int sp_lines_each_row(struct sp_lines *lines, struct sp_string_pool *pool, sp_row_function *row, void *context)
{
    for (size_t i = 0; i < lines->count; i++) {
        int status = each_row_of(lines, &lines->units[i], pool, row, context);
        if (status != 0)
            return status;
    }
    return 0;
}
