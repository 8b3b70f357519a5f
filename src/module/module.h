/* SPDX-License-Identifier: MIT */
/*
 * A loaded ELF object ("module"): where it is mapped, and its program headers.
 *
 * Only what the loader maps is read: section headers may be gone, and the file may be gone too.
 */
#ifndef SPWALK_MODULE_H
#define SPWALK_MODULE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_module {
    uintptr_t lo, hi;         /* its mapped extents, [lo, hi) */
    uintptr_t bias;           /* what is added to a p_vaddr */
    const Elf64_Phdr *phdr;   /* its program headers in memory; NULL where they are not mapped */
    unsigned phnum;           /* how many */
    uintptr_t eh_frame_hdr;   /* its PT_GNU_EH_FRAME segment, or 0 */
    const void *loader_entry; /* the loader's name for it (a struct link_map *), or NULL */
};

/*
 * Finds the module that holds an address. Returns false where none does; *module is then undefined.
 *
 * Async-signal-safe and thread-safe where the C library has _dl_find_object (glibc 2.35 and later, shared and static).
 * Elsewhere it goes by dl_iterate_phdr, which takes the loader's lock.
 */
bool sp_module_find(uintptr_t address, struct sp_module *module);

/*
 * Fills in bias, phdr, phnum and eh_frame_hdr from the ELF header mapped at module->lo.
 * Returns false where there is none, or where its program headers do not lie in the same page run.
 */
bool sp_module_read_headers(struct sp_module *module);

/* The extents of the PT_LOAD segment that holds an address; false where none does. */
bool sp_module_segment(const struct sp_module *module, uintptr_t address, uint32_t flags, uintptr_t *lo, uintptr_t *hi);

/* Whether the program can never unload it: it is the program itself, or the C library or loader. */
bool sp_module_is_permanent(const struct sp_module *module);

#endif
