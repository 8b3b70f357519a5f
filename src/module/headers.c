/* SPDX-License-Identifier: MIT */
#include "module/module.h"

#include <link.h>
#include <stddef.h>

#define PAGE UINT64_C(4096)

bool sp_module_read_headers(struct sp_module *module)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)module->lo;
    module->phdr = NULL;
    module->phnum = 0;
    if (module->hi - module->lo < PAGE || module->lo % PAGE != 0)
        return false;
    if (header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1 ||
        header->e_ident[EI_MAG2] != ELFMAG2 || header->e_ident[EI_MAG3] != ELFMAG3 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
        return false;
    /* The first page is all that is known to be mapped so far. */
    if (header->e_phoff % 8 != 0 || header->e_phoff > PAGE ||
        header->e_phnum > (PAGE - header->e_phoff) / sizeof(Elf64_Phdr))
        return false;

    const Elf64_Phdr *phdr = (const Elf64_Phdr *)(module->lo + header->e_phoff);
    bool biased = false;
    for (unsigned i = 0; i < header->e_phnum && !biased; i++) {
        if (phdr[i].p_type == PT_LOAD) {
            module->bias = module->lo - (phdr[i].p_vaddr & ~(PAGE - 1));
            biased = true;
        }
    }
    if (!biased)
        return false;
    module->phdr = phdr;
    module->phnum = header->e_phnum;
    if (module->eh_frame_hdr == 0) {
        for (unsigned i = 0; i < module->phnum; i++)
            if (phdr[i].p_type == PT_GNU_EH_FRAME)
                module->eh_frame_hdr = module->bias + phdr[i].p_vaddr;
    }
    return true;
}

bool sp_module_segment(const struct sp_module *module, uintptr_t address, uint32_t flags, uintptr_t *lo, uintptr_t *hi)
{
    for (unsigned i = 0; i < module->phnum; i++) {
        const Elf64_Phdr *p = &module->phdr[i];
        uintptr_t start = module->bias + p->p_vaddr;
        if (p->p_type != PT_LOAD || (p->p_flags & flags) != flags)
            continue;
        if (address - start < p->p_memsz && start >= module->lo && start <= module->hi &&
            p->p_memsz <= module->hi - start) {
            *lo = start;
            *hi = start + p->p_memsz;
            return true;
        }
    }
    return false;
}
