/* SPDX-License-Identifier: MIT */
#include "dynamic_symbols.h"

/*
 * glibc adds the module's bias to the addresses in PT_DYNAMIC as it loads it; other loaders, and the vdso, do not.
 * NULL also where a table is not aligned as its entries must be.
 */
static const void *at(const struct sp_segments *segments, uint64_t address, uint64_t size, uint64_t align)
{
    const void *bytes = sp_segments_at(segments, address, size);
    if (bytes == NULL)
        bytes = sp_segments_at(segments, address - segments->bias, size);
    return (uintptr_t)bytes % align == 0 ? bytes : NULL;
}

static uint64_t room(const struct sp_segments *segments, uint64_t address)
{
    uint64_t bytes = sp_segments_room(segments, address);
    return bytes != 0 ? bytes : sp_segments_room(segments, address - segments->bias);
}

/* DT_GNU_HASH has no count: the symbols end with the chain that begins last, at the first odd hash. */
static uint64_t count_by_gnu_hash(const struct sp_segments *segments, uint64_t table)
{
    const uint32_t *header = at(segments, table, 16, 4);
    if (header == NULL)
        return 0;
    uint64_t buckets = header[0], first = header[1], bloom = header[2];
    uint64_t bucket_at = table + 16 + 8 * bloom;
    const uint32_t *bucket = at(segments, bucket_at, 4 * buckets, 4);
    if (bucket == NULL)
        return 0;
    uint64_t last = 0;
    for (uint64_t i = 0; i < buckets; i++)
        if (bucket[i] > last)
            last = bucket[i];
    if (last < first)
        return first; /* nothing is hashed: what is there is not defined here */
    uint64_t chain_at = bucket_at + 4 * buckets + 4 * (last - first);
    uint64_t chain_size = room(segments, chain_at) / 4;
    const uint32_t *chain = at(segments, chain_at, 4 * chain_size, 4);
    if (chain == NULL)
        return 0;
    for (uint64_t i = 0; i < chain_size; i++)
        if ((chain[i] & 1) != 0)
            return last + i + 1;
    return 0;
}

bool sp_dynamic_symbols_open(const struct sp_segments *segments, struct sp_dynamic_symbols *dynamic)
{
    uint64_t symbols = 0, strings = 0, gnu_hash = 0, hash = 0, entry_size = sizeof(Elf64_Sym);
    uint64_t entries = segments->dynamic_size / sizeof(Elf64_Dyn);
    const Elf64_Dyn *entry = sp_segments_at(segments, segments->dynamic, entries * sizeof(Elf64_Dyn));
    *dynamic = (struct sp_dynamic_symbols){0};
    if (entry == NULL || ((uintptr_t)entry & 7) != 0)
        return false;
    for (uint64_t i = 0; i < entries && entry[i].d_tag != DT_NULL; i++) {
        uint64_t value = entry[i].d_un.d_val;
        switch (entry[i].d_tag) {
        case DT_SYMTAB:
            symbols = value;
            break;
        case DT_STRTAB:
            strings = value;
            break;
        case DT_STRSZ:
            dynamic->strings_size = value;
            break;
        case DT_SYMENT:
            entry_size = value;
            break;
        case DT_GNU_HASH:
            gnu_hash = value;
            break;
        case DT_HASH:
            hash = value;
            break;
        }
    }
    if (symbols == 0 || strings == 0 || dynamic->strings_size == 0 || entry_size != sizeof(Elf64_Sym))
        return false;
    const uint32_t *header = hash == 0 ? NULL : at(segments, hash, 8, 4);
    if (header != NULL)
        dynamic->count = header[1];
    else if (gnu_hash != 0)
        dynamic->count = count_by_gnu_hash(segments, gnu_hash);
    if (dynamic->count > room(segments, symbols) / sizeof(Elf64_Sym))
        return false;
    dynamic->symbols = at(segments, symbols, dynamic->count * sizeof(Elf64_Sym), 8);
    dynamic->strings = at(segments, strings, dynamic->strings_size, 1);
    return dynamic->count > 0 && dynamic->symbols != NULL && dynamic->strings != NULL;
}

bool sp_dynamic_symbols_get(const struct sp_dynamic_symbols *dynamic, uint64_t index, struct sp_candidate *function)
{
    const Elf64_Sym *symbol = &dynamic->symbols[index];
    uint8_t type = ELF64_ST_TYPE(symbol->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_name >= dynamic->strings_size)
        return false;
    const char *name = dynamic->strings + symbol->st_name;
    if (memchr(name, '\0', dynamic->strings_size - symbol->st_name) == NULL || name[0] == '\0')
        return false;
    *function = (struct sp_candidate){
        .start = symbol->st_value,
        .size = symbol->st_size,
        .name = name,
        .name_length = sp_name_length(name),
        .type = type,
        .binding = ELF64_ST_BIND(symbol->st_info),
    };
    return true;
}

bool sp_dynamic_symbols_find(const struct sp_dynamic_symbols *dynamic, uint64_t address, struct sp_candidate *function)
{
    bool found = false;
    for (uint64_t i = 0; i < dynamic->count; i++) {
        const Elf64_Sym *symbol = &dynamic->symbols[i];
        uint64_t size = symbol->st_size == 0 ? 1 : symbol->st_size;
        struct sp_candidate candidate;
        if (address < symbol->st_value || address - symbol->st_value >= size ||
            !sp_dynamic_symbols_get(dynamic, i, &candidate))
            continue;
        if (!found || candidate.start > function->start ||
            (candidate.start == function->start && sp_prefer(&candidate, function) < 0))
            *function = candidate;
        found = true;
    }
    return found;
}
