/* SPDX-License-Identifier: MIT */
/* Finding modules by the C library's list of them, dl_iterate_phdr(3), and those that are in no list. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "module/listed.h"

#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>

enum { PAGE = 4096 };

struct search {
    uintptr_t address;
    struct sp_module *module;
};

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct search *search = data;
    uintptr_t lo = UINTPTR_MAX, hi = 0, hdr = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD) {
            lo = start < lo ? start : lo;
            hi = start + p->p_memsz > hi ? start + p->p_memsz : hi;
        } else if (p->p_type == PT_GNU_EH_FRAME) {
            hdr = start;
        }
    }
    if (search->address < lo || search->address >= hi)
        return 0;
    *search->module = (struct sp_module){.lo = lo & ~UINT64_C(4095),
                                         .hi = hi,
                                         .bias = info->dlpi_addr,
                                         .phdr = info->dlpi_phdr,
                                         .phnum = info->dlpi_phnum,
                                         .eh_frame_hdr = hdr};
    return 1;
}

/* The module whose ELF header is mapped at lo, if it holds the address. */
static bool find_at(uintptr_t lo, uintptr_t address, struct sp_module *module)
{
    if (lo == 0)
        return false;
    *module = (struct sp_module){.lo = lo, .hi = lo + PAGE};
    if (!sp_module_read_headers(module))
        return false;
    for (unsigned i = 0; i < module->phnum; i++)
        if (module->phdr[i].p_type == PT_LOAD)
            module->hi = module->bias + module->phdr[i].p_vaddr + module->phdr[i].p_memsz;
    return address >= module->lo && address < module->hi;
}

bool sp_module_find_unlisted(uintptr_t address, struct sp_module *module)
{
    /* The program headers follow the ELF header, in the same page. */
    return find_at(getauxval(AT_SYSINFO_EHDR), address, module) ||
           find_at(getauxval(AT_PHDR) & ~(uintptr_t)(PAGE - 1), address, module);
}

bool sp_module_find_listed(uintptr_t address, struct sp_module *module)
{
    struct search search = {address, module};
    return dl_iterate_phdr(visit, &search) != 0 || sp_module_find_unlisted(address, module);
}
