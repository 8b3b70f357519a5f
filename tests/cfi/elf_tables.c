/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "elf_tables.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRAM_HEADERS_MOST 64

static bool read_image(struct elf_tables *file, const GElf_Phdr *phdrs, size_t count)
{
    uint64_t lo = UINT64_MAX, hi = 0;
    for (size_t i = 0; i < count; i++) {
        if (phdrs[i].p_type != PT_LOAD)
            continue;
        if (phdrs[i].p_vaddr < lo)
            lo = phdrs[i].p_vaddr;
        if (phdrs[i].p_vaddr + phdrs[i].p_memsz > hi)
            hi = phdrs[i].p_vaddr + phdrs[i].p_memsz;
    }
    if (lo >= hi || (file->image = calloc(1, hi - lo)) == NULL)
        return false;
    file->bias = (uintptr_t)file->image - lo;
    for (size_t i = 0; i < count; i++) {
        const GElf_Phdr *phdr = &phdrs[i];
        uint8_t *place = (uint8_t *)(file->bias + phdr->p_vaddr);
        if (phdr->p_type != PT_LOAD)
            continue;
        if (pread(file->fd, place, phdr->p_filesz, (off_t)phdr->p_offset) != (ssize_t)phdr->p_filesz)
            return false;
        if (phdr->p_flags & PF_X && file->code_lo == 0) {
            file->code_lo = (uintptr_t)place;
            file->code_hi = (uintptr_t)place + phdr->p_filesz;
        }
    }
    return true;
}

static bool find_tables(struct elf_tables *file, const GElf_Phdr *phdrs, size_t count)
{
    const GElf_Phdr *hdr = NULL;
    for (size_t i = 0; i < count; i++)
        if (phdrs[i].p_type == PT_GNU_EH_FRAME)
            hdr = &phdrs[i];
    for (size_t i = 0; hdr != NULL && i < count; i++) {
        if (phdrs[i].p_type != PT_LOAD || hdr->p_vaddr - phdrs[i].p_vaddr >= phdrs[i].p_filesz)
            continue;
        file->tables = (struct sp_cfi_tables){
            .hdr = file->bias + hdr->p_vaddr,
            .hdr_end = file->bias + hdr->p_vaddr + hdr->p_memsz,
            .segment_lo = file->bias + phdrs[i].p_vaddr,
            .segment_hi = file->bias + phdrs[i].p_vaddr + phdrs[i].p_filesz,
        };
        return true;
    }
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
    GElf_Phdr phdrs[PROGRAM_HEADERS_MOST];
    size_t count = 0;
    if (file->elf != NULL && gelf_getehdr(file->elf, &ehdr) && ehdr.e_machine == EM_X86_64 &&
        elf_getphdrnum(file->elf, &count) == 0 && count <= PROGRAM_HEADERS_MOST) {
        for (size_t i = 0; i < count; i++)
            gelf_getphdr(file->elf, (int)i, &phdrs[i]);
        if (read_image(file, phdrs, count) && find_tables(file, phdrs, count))
            return true;
    }
    elf_tables_close(file);
    return false;
}

void elf_tables_close(struct elf_tables *file)
{
    free(file->image);
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

void each_real_file(int argc, char **argv, void (*call)(const char *path, void *context), void *context)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libcrypto.so.3", "libm.so.6"};
    static const char *const programs[] = {"/bin/bash", "/usr/bin/git", "/usr/bin/openssl", "/usr/bin/python3",
                                           "/usr/bin/objdump"};
    for (int i = 1; i < argc; i++)
        call(argv[i], context);
    if (argc > 1)
        return;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        dlopen(libraries[i], RTLD_LAZY);
    each_loaded_file(call, context);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        if (access(programs[i], R_OK) == 0)
            call(programs[i], context);
}
