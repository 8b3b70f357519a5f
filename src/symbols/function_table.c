/* SPDX-License-Identifier: MIT */
#include "function_table.h"

#include <stdlib.h>

#include "dynamic_symbols.h"

static int by_start_then_preference(const void *left, const void *right)
{
    const struct sp_function_entry *a = left, *b = right;
    if (a->symbol.start != b->symbol.start)
        return a->symbol.start < b->symbol.start ? -1 : 1;
    return sp_prefer(&a->symbol, &b->symbol);
}

static uint64_t end_of(const struct sp_function_entry *entries, size_t count, size_t index)
{
    uint64_t start = entries[index].symbol.start, size = entries[index].symbol.size;
    if (size != 0)
        return size > UINT64_MAX - start ? UINT64_MAX : start + size;
    uint64_t end = entries[index].limit;
    for (size_t next = index + 1; next < count; next++)
        if (entries[next].symbol.start != start)
            return entries[next].symbol.start < end ? entries[next].symbol.start : end;
    return end;
}

int sp_function_table_build(struct sp_function_entry *entries, size_t count, struct sp_function_table *table)
{
    *table = (struct sp_function_table){0};
    if (count == 0)
        return 0;
    table->functions = calloc(count, sizeof *table->functions);
    struct sp_range *ranges = calloc(count, sizeof *ranges);
    if (table->functions == NULL || ranges == NULL) {
        free(ranges);
        return -1;
    }
    qsort(entries, count, sizeof *entries, by_start_then_preference);
    uint64_t covered = 0; /* the furthest end of those with a size so far */
    for (size_t i = 0; i < count; i++) {
        const struct sp_candidate *symbol = &entries[i].symbol;
        const struct sp_candidate *last = table->count == 0 ? NULL : &table->functions[table->count - 1];
        bool alias = last != NULL && last->start == symbol->start;
        if (alias ? symbol->size <= last->size : symbol->size == 0 && symbol->start < covered)
            continue;
        uint64_t end = end_of(entries, count, i);
        if (symbol->size != 0 && end > covered)
            covered = end;
        uint32_t index = (uint32_t)table->count++;
        table->functions[index] = *symbol;
        ranges[index] = (struct sp_range){symbol->start, end, index, 0};
    }
    int status = sp_ranges_flatten(ranges, table->count, &table->ranges);
    free(ranges);
    return status;
}

int sp_function_table_read(const struct sp_elf *file, Elf_Scn *section, const GElf_Shdr *header, bool partial,
                           struct sp_function_table *table)
{
    *table = (struct sp_function_table){0};
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data == NULL || data->d_buf == NULL ? 0 : data->d_size / sizeof(Elf64_Sym);
    if (count == 0 || count > UINT32_MAX / 2)
        return 0;
    struct sp_function_entry *entries = calloc(count, sizeof *entries);
    if (entries == NULL)
        return -1;
    size_t found = 0, last_index = 0;
    GElf_Shdr in = {0};
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol) == NULL)
            break;
        uint8_t type = GELF_ST_TYPE(symbol.st_info);
        size_t index = symbol.st_shndx;
        if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || index == SHN_UNDEF ||
            index >= SHN_LORESERVE)
            continue;
        if (index != last_index) {
            Elf_Scn *of = elf_getscn(file->elf, index);
            if (of == NULL || gelf_getshdr(of, &in) == NULL)
                in = (GElf_Shdr){0};
            last_index = index;
        }
        uint64_t limit = in.sh_addr + in.sh_size;
        if ((in.sh_flags & SHF_EXECINSTR) == 0 || symbol.st_value < in.sh_addr || symbol.st_value >= limit)
            continue;
        const char *name = elf_strptr(file->elf, header->sh_link, symbol.st_name);
        if (name == NULL || name[0] == '\0')
            continue;
        entries[found++] = (struct sp_function_entry){
            {symbol.st_value, symbol.st_size, name, sp_name_length(name), type, GELF_ST_BIND(symbol.st_info)},
            partial ? symbol.st_value + 1 : limit,
        };
    }
    int status = sp_function_table_build(entries, found, table);
    free(entries);
    return status;
}

int sp_function_table_read_dynamic(const struct sp_segments *segments, struct sp_function_table *table)
{
    *table = (struct sp_function_table){0};
    struct sp_dynamic_symbols dynamic;
    if (!sp_dynamic_symbols_open(segments, &dynamic) || dynamic.count > UINT32_MAX / 2)
        return 0;
    struct sp_function_entry *entries = calloc(dynamic.count, sizeof *entries);
    if (entries == NULL)
        return -1;
    size_t found = 0;
    for (uint64_t i = 0; i < dynamic.count; i++)
        if (sp_dynamic_symbols_get(&dynamic, i, &entries[found].symbol)) {
            entries[found].limit = entries[found].symbol.start + 1;
            found++;
        }
    int status = sp_function_table_build(entries, found, table);
    free(entries);
    return status;
}

const struct sp_candidate *sp_function_table_find(const struct sp_function_table *table, uint64_t address)
{
    const struct sp_range *range = sp_ranges_find(&table->ranges, address);
    return range == NULL ? NULL : &table->functions[range->item];
}

const struct sp_candidate *sp_function_table_below(const struct sp_function_table *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &table->functions[low - 1];
}

void sp_function_table_free(struct sp_function_table *table)
{
    free(table->functions);
    free(table->ranges.ranges);
    *table = (struct sp_function_table){0};
}
