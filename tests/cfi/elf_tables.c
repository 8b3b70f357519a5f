/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "elf_tables.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_segment(struct elf_tables *file, const GElf_Phdr *load, const GElf_Phdr *hdr)
{
    file->segment = malloc(load->p_memsz);
    if (file->segment == NULL)
        return false;
    memset(file->segment, 0, load->p_memsz);
    if (pread(file->fd, file->segment, load->p_filesz, (off_t)load->p_offset) != (ssize_t)load->p_filesz)
        return false;
    file->bias = (uintptr_t)file->segment - load->p_vaddr;
    file->tables = (struct sp_cfi_tables){
        .hdr = file->bias + hdr->p_vaddr,
        .hdr_end = file->bias + hdr->p_vaddr + hdr->p_memsz,
        .segment_lo = (uintptr_t)file->segment,
        .segment_hi = (uintptr_t)file->segment + load->p_filesz,
    };
    return true;
}

static bool find_phdr(Elf *elf, uint32_t type, uint64_t address, GElf_Phdr *phdr)
{
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, phdr) && phdr->p_type == type &&
            (type != PT_LOAD || address - phdr->p_vaddr < phdr->p_filesz))
            return true;
    return false;
}

bool elf_tables_open(struct elf_tables *file, const char *path)
{
    *file = (struct elf_tables){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (file->fd < 0)
        return false;
    elf_version(EV_CURRENT);
    file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
    GElf_Ehdr ehdr;
    GElf_Phdr hdr, load;
    if (file->elf != NULL && gelf_getehdr(file->elf, &ehdr) && ehdr.e_machine == EM_X86_64 &&
        find_phdr(file->elf, PT_GNU_EH_FRAME, 0, &hdr) && find_phdr(file->elf, PT_LOAD, hdr.p_vaddr, &load) &&
        read_segment(file, &load, &hdr))
        return true;
    elf_tables_close(file);
    return false;
}

void elf_tables_close(struct elf_tables *file)
{
    free(file->segment);
    elf_end(file->elf);
    close(file->fd);
}

struct loaded_call {
    void (*call)(const char *path, void *context);
    void *context;
};

static int call_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct loaded_call *loaded = data;
    if (info->dlpi_name[0] == '\0')
        loaded->call("/proc/self/exe", loaded->context);
    else if (info->dlpi_name[0] == '/') /* the vdso has a name but no file */
        loaded->call(info->dlpi_name, loaded->context);
    return 0;
}

void each_loaded_file(void (*call)(const char *path, void *context), void *context)
{
    struct loaded_call loaded = {call, context};
    dl_iterate_phdr(call_loaded, &loaded);
}
