/* SPDX-License-Identifier: MIT */
/* Finding modules with glibc: _dl_find_object where it exists (2.35 and later), else dl_iterate_phdr. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "module/listed.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>

/* Weak, so that the library loads with an older glibc too. */
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak));
extern void *__libc_stack_end __attribute__((weak));

bool sp_module_find(uintptr_t address, struct sp_module *module)
{
    if (_dl_find_object == NULL)
        return sp_module_find_listed(address, module);
    struct dl_find_object found;
    if (_dl_find_object((void *)address, &found) != 0)
        return sp_module_find_unlisted(address, module);
    *module = (struct sp_module){.lo = (uintptr_t)found.dlfo_map_start,
                                 .hi = (uintptr_t)found.dlfo_map_end,
                                 .eh_frame_hdr = (uintptr_t)found.dlfo_eh_frame,
                                 .loader_entry = found.dlfo_link_map};
    if (sp_module_read_headers(module))
        return true;
    /* A static program's extents begin at its code, not at its headers. */
    struct sp_module whole;
    if (sp_module_find_unlisted(address, &whole))
        *module = whole;
    return true;
}

static bool holds(const struct sp_module *module, uintptr_t address)
{
    return address - module->lo < module->hi - module->lo;
}

/*
 * The loader's list is in the order of loading, and it takes out only what dlopen added, at the end. So what precedes
 * the loader itself was loaded at the program's start and stays, and that part of the list never changes. (What was
 * loaded at the start and follows it is not found so.)
 */
static bool was_loaded_at_start(const struct sp_module *module)
{
    struct sp_module loader;
    if (module->loader_entry == NULL || &__libc_stack_end == NULL ||
        !sp_module_find((uintptr_t)&__libc_stack_end, &loader))
        return false;
    const struct link_map *entry = loader.loader_entry;
    while (entry != NULL && entry != module->loader_entry)
        entry = entry->l_prev;
    return entry != NULL;
}

bool sp_module_is_permanent(const struct sp_module *module)
{
    return holds(module, getauxval(AT_PHDR)) || holds(module, (uintptr_t)&__libc_stack_end) ||
           holds(module, (uintptr_t)getauxval) || module->lo == getauxval(AT_SYSINFO_EHDR) ||
           was_loaded_at_start(module);
}
