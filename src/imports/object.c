/* SPDX-License-Identifier: MIT */
#include "imports/object.h"

#include <string.h>

#define VERSION_INDEX 0x7fff
#define VERSION_HIDDEN 0x8000

/* glibc relocates the pointers of a writable dynamic section in place; other linkers, and a read-only one, do not. */
static const void *pointer(const struct object *object, const Elf64_Dyn *entry)
{
    uintptr_t value = entry->d_un.d_ptr;
    return (const void *)(value < object->bias ? value + object->bias : value);
}

static void read_dynamic(struct object *object)
{
    size_t soname = 0;
    for (const Elf64_Dyn *entry = object->dynamic; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            object->symbols = pointer(object, entry);
            break;
        case DT_STRTAB:
            object->strings = pointer(object, entry);
            break;
        case DT_RELA:
            object->relocations = pointer(object, entry);
            break;
        case DT_RELASZ:
            object->relocation_count = entry->d_un.d_val / sizeof(Elf64_Rela);
            break;
        case DT_JMPREL:
            object->plt_relocations = pointer(object, entry);
            break;
        case DT_PLTRELSZ:
            object->plt_relocation_count = entry->d_un.d_val / sizeof(Elf64_Rela);
            break;
        case DT_PLTGOT:
            object->plt_got = (uintptr_t *)pointer(object, entry);
            break;
        case DT_VERSYM:
            object->versions = pointer(object, entry);
            break;
        case DT_VERNEED:
            object->needed_versions = pointer(object, entry);
            break;
        case DT_VERDEF:
            object->defined_versions = pointer(object, entry);
            break;
        case DT_GNU_HASH:
            object->gnu_hash = pointer(object, entry);
            break;
        case DT_HASH:
            object->sysv_hash = pointer(object, entry);
            break;
        case DT_INIT:
            object->init = object->bias + entry->d_un.d_ptr;
            break;
        case DT_INIT_ARRAY:
            object->init_array = (const uintptr_t *)(object->bias + entry->d_un.d_ptr);
            break;
        case DT_INIT_ARRAYSZ:
            object->init_array_count = entry->d_un.d_val / sizeof(uintptr_t);
            break;
        case DT_SONAME:
            soname = entry->d_un.d_val;
            break;
        case DT_SYMBOLIC:
            object->symbolic = true;
            break;
        case DT_FLAGS:
            object->symbolic |= (entry->d_un.d_val & DF_SYMBOLIC) != 0;
            break;
        default:
            break;
        }
    }
    object->soname = soname && object->strings ? object->strings + soname : "";
}

bool imports_object_view(const struct dl_phdr_info *info, struct object *object)
{
    memset(object, 0, sizeof *object);
    object->bias = info->dlpi_addr;
    object->path = info->dlpi_name ? info->dlpi_name : "";
    object->segments = info->dlpi_phdr;
    object->segment_count = info->dlpi_phnum;
    object->start = UINTPTR_MAX;
    for (size_t i = 0; i < object->segment_count; i++) {
        const Elf64_Phdr *segment = &object->segments[i];
        uintptr_t start = object->bias + segment->p_vaddr;
        switch (segment->p_type) {
        case PT_LOAD:
            object->start = start < object->start ? start : object->start;
            object->end = start + segment->p_memsz > object->end ? start + segment->p_memsz : object->end;
            break;
        case PT_DYNAMIC:
            object->dynamic = (Elf64_Dyn *)start;
            break;
        case PT_GNU_RELRO:
            object->relro_start = start;
            object->relro_end = start + segment->p_memsz;
            break;
        default:
            break;
        }
    }
    if (!object->dynamic)
        return false;
    read_dynamic(object);
    return object->symbols && object->strings;
}

bool imports_object_holds(const struct object *object, uintptr_t address, uint32_t flags)
{
    for (size_t i = 0; i < object->segment_count; i++) {
        const Elf64_Phdr *segment = &object->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
            address - (object->bias + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static const char *defined_version(const struct object *object, unsigned index)
{
    const Elf64_Verdef *definition = object->defined_versions;
    while (definition) {
        if ((definition->vd_ndx & VERSION_INDEX) == index) {
            const Elf64_Verdaux *name = (const Elf64_Verdaux *)((const char *)definition + definition->vd_aux);
            return object->strings + name->vda_name;
        }
        if (!definition->vd_next)
            break;
        definition = (const Elf64_Verdef *)((const char *)definition + definition->vd_next);
    }
    return NULL;
}

static const char *needed_version(const struct object *object, unsigned index)
{
    const Elf64_Verneed *file = object->needed_versions;
    while (file) {
        const Elf64_Vernaux *version = (const Elf64_Vernaux *)((const char *)file + file->vn_aux);
        for (unsigned i = 0; i < file->vn_cnt; i++) {
            if ((version->vna_other & VERSION_INDEX) == index)
                return object->strings + version->vna_name;
            version = (const Elf64_Vernaux *)((const char *)version + version->vna_next);
        }
        if (!file->vn_next)
            break;
        file = (const Elf64_Verneed *)((const char *)file + file->vn_next);
    }
    return NULL;
}

const char *imports_symbol_version(const struct object *object, size_t index)
{
    if (!object->versions)
        return NULL;
    unsigned version = object->versions[index] & VERSION_INDEX;
    if (version <= VER_NDX_GLOBAL)
        return NULL;
    const char *name = needed_version(object, version);
    return name ? name : defined_version(object, version);
}

static bool defines(const struct object *object, size_t index, const char *name, const char *version)
{
    const Elf64_Sym *symbol = &object->symbols[index];
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL || strcmp(object->strings + symbol->st_name, name) != 0)
        return false;
    if (!object->versions || !object->defined_versions)
        return true;
    unsigned own = object->versions[index];
    if (!version)
        return !(own & VERSION_HIDDEN) || (own & VERSION_INDEX) <= VER_NDX_GLOBAL + 1;
    const char *own_name = defined_version(object, own & VERSION_INDEX);
    return own_name && strcmp(own_name, version) == 0;
}

static const Elf64_Sym *find_gnu(const struct object *object, const char *name, const char *version)
{
    const uint32_t *table = object->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], bloom_size = table[2], bloom_shift = table[3];
    const uint64_t *bloom = (const uint64_t *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(bloom + bloom_size), *chains = buckets + bucket_count;
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    uint64_t word = bloom[hash / 64 % bloom_size];
    if (!(word >> hash % 64 & word >> (hash >> bloom_shift) % 64 & 1) || !bucket_count)
        return NULL;
    uint32_t index = buckets[hash % bucket_count];
    if (index < first)
        return NULL;
    for (;; index++) {
        uint32_t entry = chains[index - first];
        if ((entry | 1) == (hash | 1) && defines(object, index, name, version))
            return &object->symbols[index];
        if (entry & 1)
            return NULL;
    }
}

static const Elf64_Sym *find_sysv(const struct object *object, const char *name, const char *version)
{
    uint32_t bucket_count = object->sysv_hash[0];
    const uint32_t *buckets = object->sysv_hash + 2, *chains = buckets + bucket_count;
    uint32_t hash = 0;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    for (uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0; index; index = chains[index])
        if (defines(object, index, name, version))
            return &object->symbols[index];
    return NULL;
}

const Elf64_Sym *imports_find_definition(const struct object *object, const char *name, const char *version)
{
    if (object->gnu_hash)
        return find_gnu(object, name, version);
    return object->sysv_hash ? find_sysv(object, name, version) : NULL;
}
