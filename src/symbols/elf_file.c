/* SPDX-License-Identifier: MIT */
#include "elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "why.h"

static bool take_build_id(struct sp_elf *file, const void *notes, uint64_t size, uint64_t align)
{
    uint32_t id_size;
    const void *id = sp_note_find(notes, size, align, ELF_NOTE_GNU, NT_GNU_BUILD_ID, &id_size);
    if (id == NULL || id_size == 0 || id_size > sizeof file->build_id)
        return false;
    memcpy(file->build_id, id, id_size);
    file->build_id_size = id_size;
    return true;
}

/* By sections first: the program headers of a separate debug file describe bytes that it does not hold. */
static void read_build_id(struct sp_elf *file)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(file->elf, section)) != NULL) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_NOTE)
            continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        if (data != NULL && data->d_buf != NULL && take_build_id(file, data->d_buf, data->d_size, header.sh_addralign))
            return;
    }
    size_t size, headers;
    const char *bytes = elf_rawfile(file->elf, &size);
    if (bytes == NULL || elf_getphdrnum(file->elf, &headers) != 0)
        return;
    for (size_t i = 0; i < headers; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(file->elf, (int)i, &header) == NULL || header.p_type != PT_NOTE || header.p_offset > size ||
            header.p_filesz > size - header.p_offset)
            continue;
        if (take_build_id(file, bytes + header.p_offset, header.p_filesz, header.p_align))
            return;
    }
}

/* Takes over elf, and fd and memory with it, also where it refuses. */
static struct sp_elf *accept(Elf *elf, int fd, void *memory, const char *path, char **why)
{
    struct sp_elf *file = calloc(1, sizeof *file);
    GElf_Ehdr header;
    if (file == NULL || (file->path = strdup(path)) == NULL) {
        sp_why(why, "%s: out of memory", path);
    } else if (elf == NULL) {
        sp_why(why, "%s: %s", path, elf_errmsg(-1));
    } else if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == NULL) {
        sp_why(why, "%s: not an ELF file", path);
    } else if (gelf_getclass(elf) != ELFCLASS64 || header.e_machine != EM_X86_64 ||
               header.e_ident[EI_DATA] != ELFDATA2LSB) {
        sp_why(why, "%s: not an x86-64 ELF file", path);
    } else {
        file->elf = elf;
        file->fd = fd;
        file->memory = memory;
        read_build_id(file);
        return file;
    }
    if (file != NULL)
        free(file->path);
    free(file);
    elf_end(elf);
    free(memory);
    if (fd >= 0)
        close(fd);
    return NULL;
}

struct sp_elf *sp_elf_open(const char *path, char **why)
{
    elf_version(EV_CURRENT);
    /* Not to wait for a writer where the path is a FIFO. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        sp_why(why, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        sp_why(why, "%s: not a regular file", path);
        close(fd);
        return NULL;
    }
    return accept(elf_begin(fd, ELF_C_READ_MMAP, NULL), fd, NULL, path, why);
}

struct sp_elf *sp_elf_from_memory(const void *bytes, size_t size, const char *name, char **why)
{
    elf_version(EV_CURRENT);
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL) {
        sp_why(why, "%s: out of memory", name);
        return NULL;
    }
    memcpy(memory, bytes, size);
    return accept(elf_memory(memory, size), -1, memory, name, why);
}

void sp_elf_close(struct sp_elf *file)
{
    if (file == NULL)
        return;
    elf_end(file->elf);
    free(file->memory);
    free(file->path);
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}

Elf_Scn *sp_elf_section(const struct sp_elf *file, const char *name, GElf_Shdr *header)
{
    size_t names;
    if (elf_getshdrstrndx(file->elf, &names) != 0)
        return NULL;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(file->elf, section)) != NULL) {
        const char *found;
        if (gelf_getshdr(section, header) != NULL && (found = elf_strptr(file->elf, names, header->sh_name)) != NULL &&
            strcmp(found, name) == 0)
            return section;
    }
    return NULL;
}

bool sp_elf_has_dwarf(const struct sp_elf *file)
{
    static const char *const names[] = {".debug_info", ".zdebug_info"};
    GElf_Shdr header;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sp_elf_section(file, names[i], &header) != NULL && header.sh_type != SHT_NOBITS)
            return true;
    return false;
}

void sp_elf_segments(const struct sp_elf *file, struct sp_segments *segments)
{
    *segments = (struct sp_segments){0};
    size_t size, headers;
    const uint8_t *bytes = (const uint8_t *)elf_rawfile(file->elf, &size);
    if (bytes == NULL || elf_getphdrnum(file->elf, &headers) != 0)
        return;
    for (size_t i = 0; i < headers; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(file->elf, (int)i, &header) == NULL || header.p_offset > size)
            continue;
        uint64_t there = size - header.p_offset;
        sp_segments_add(segments, &header, bytes + header.p_offset, header.p_filesz < there ? header.p_filesz : there);
    }
}

bool sp_build_ids_differ(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    return a_size > 0 && b_size > 0 && (a_size != b_size || memcmp(a, b, a_size) != 0);
}

void sp_build_id_text(const uint8_t *id, size_t id_size, char *text, size_t text_size)
{
    text[0] = '\0';
    for (size_t i = 0; i < id_size && 2 * i + 2 < text_size; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}
