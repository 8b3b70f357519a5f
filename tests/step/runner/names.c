/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "names.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILES 64

struct file {
    char path[256];
    Elf *elf;
};

static struct file files[FILES];
static int opened;

static Elf *elf_of(const char *path)
{
    for (int i = 0; i < opened; i++)
        if (strcmp(files[i].path, path) == 0)
            return files[i].elf;
    if (opened == FILES)
        return NULL;
    elf_version(EV_CURRENT);
    struct file *f = &files[opened++];
    snprintf(f->path, sizeof f->path, "%s", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        f->elf = elf_begin(fd, ELF_C_READ, NULL);
        if (f->elf != NULL)
            elf_cntl(f->elf, ELF_C_FDREAD);
        close(fd);
    }
    return f->elf;
}

static uint64_t address_of(Elf *elf, uint64_t file_offset)
{
    size_t n = 0;
    elf_getphdrnum(elf, &n);
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr ph;
        if (gelf_getphdr(elf, (int)i, &ph) != NULL && ph.p_type == PT_LOAD && (ph.p_flags & PF_X) != 0 &&
            file_offset - ph.p_offset < ph.p_filesz)
            return ph.p_vaddr + (file_offset - ph.p_offset);
    }
    return file_offset;
}

/* The symbol with the address inside it; .symtab's names are preferred to .dynsym's, being more. */
static const char *symbol_at(Elf *elf, uint64_t address, uint64_t *start)
{
    const char *found = NULL;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr sh;
        if (gelf_getshdr(section, &sh) == NULL || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; data != NULL && i < (int)(sh.sh_size / sh.sh_entsize); i++) {
            GElf_Sym sym;
            if (gelf_getsym(data, i, &sym) == NULL || GELF_ST_TYPE(sym.st_info) > STT_FUNC || sym.st_shndx == SHN_UNDEF)
                continue;
            uint64_t size = sym.st_size != 0 ? sym.st_size : 1;
            if (address - sym.st_value >= size)
                continue;
            found = elf_strptr(elf, sh.sh_link, sym.st_name);
            *start = sym.st_value;
            if (found != NULL && found[0] != 0)
                return found;
        }
    }
    return found;
}

void step_name(const char *path, uint64_t file_offset, char *text, size_t size)
{
    const char *base = strrchr(path, '/');
    base = base != NULL ? base + 1 : path;
    Elf *elf = elf_of(path);
    if (elf == NULL) {
        snprintf(text, size, "%s+0x%lx", base, (unsigned long)file_offset);
        return;
    }
    uint64_t address = address_of(elf, file_offset);
    uint64_t start = 0;
    const char *symbol = symbol_at(elf, address, &start);
    if (symbol == NULL)
        snprintf(text, size, "%s+0x%lx", base, (unsigned long)address);
    else
        snprintf(text, size, "%s+0x%lx (%s+0x%lx)", base, (unsigned long)address, symbol,
                 (unsigned long)(address - start));
}
