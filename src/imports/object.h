/* SPDX-License-Identifier: MIT */
/*
 * A loaded object as its program headers and dynamic section describe it in memory (System V gABI, chapter 5).
 * Nothing is copied: a view is good as long as the object stays loaded.
 */
#ifndef SPWALK_IMPORTS_OBJECT_H
#define SPWALK_IMPORTS_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
    uintptr_t bias, start, end; /* load bias; lowest and highest address of its segments */
    uintptr_t relro_start, relro_end;
    const char *path; /* as the dynamic linker names it: "" for the program */
    const Elf64_Phdr *segments;
    size_t segment_count;
    Elf64_Dyn *dynamic;
    const Elf64_Sym *symbols;
    const char *strings;
    const Elf64_Rela *relocations, *plt_relocations;
    size_t relocation_count, plt_relocation_count;
    const Elf64_Half *versions; /* an index per symbol; NULL: no versions */
    const Elf64_Verneed *needed_versions;
    const Elf64_Verdef *defined_versions;
    const uint32_t *gnu_hash, *sysv_hash;
    uintptr_t *plt_got;
    const uintptr_t *init_array;
    size_t init_array_count;
    uintptr_t init; /* address; 0: none */
    const char *soname;
    bool symbolic;
};

/* Fills *object from what dl_iterate_phdr(3) tells. Returns false where it has no dynamic section. */
bool imports_object_view(const struct dl_phdr_info *info, struct object *object);

/* Whether address lies in one of the object's segments with all the given PF_ flags. */
bool imports_object_holds(const struct object *object, uintptr_t address, uint32_t flags);

/* The name of the version that symbol `index` of the object asks for or has, or NULL where it has none. */
const char *imports_symbol_version(const struct object *object, size_t index);

/* The object's definition of `name`, of the given version (NULL: the default one), or NULL. */
const Elf64_Sym *imports_find_definition(const struct object *object, const char *name, const char *version);

#endif
