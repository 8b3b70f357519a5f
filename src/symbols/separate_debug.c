/* SPDX-License-Identifier: MIT */
#include "separate_debug.h"

#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "why.h"

struct search {
    const struct sp_elf *module;
    char **why;
};

/* lzma_crc32 computes the CRC that .gnu_debuglink uses (IEEE 802.3). */
static uint32_t crc_of(const struct sp_elf *file)
{
    size_t size;
    const char *bytes = elf_rawfile(file->elf, &size);
    return bytes == NULL ? 0 : lzma_crc32((const uint8_t *)bytes, size, 0);
}

static bool same_file(const char *path, int fd)
{
    struct stat a, b;
    return fd >= 0 && stat(path, &a) == 0 && fstat(fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The file at path where it exists and is the module's; crc NULL: the build-id alone decides. */
static struct sp_elf *try(const struct search *search, const char *path, const uint32_t *crc)
{
    const struct sp_elf *module = search->module;
    if (access(path, F_OK) != 0 || same_file(path, module->fd))
        return NULL;
    struct sp_elf *file = sp_elf_open(path, search->why);
    if (file == NULL)
        return NULL;
    uint32_t found;
    if (sp_build_ids_differ(module->build_id, module->build_id_size, file->build_id, file->build_id_size) ||
        (crc == NULL && file->build_id_size == 0)) {
        char wanted[2 * SP_BUILD_ID_MAX + 1], has[2 * SP_BUILD_ID_MAX + 1];
        sp_build_id_text(module->build_id, module->build_id_size, wanted, sizeof wanted);
        sp_build_id_text(file->build_id, file->build_id_size, has, sizeof has);
        sp_why(search->why, "%s: refused: its build-id is %s, that of %s is %s", path, has[0] == '\0' ? "missing" : has,
               module->path, wanted);
    } else if (crc != NULL && (found = crc_of(file)) != *crc) {
        sp_why(search->why, "%s: refused: its CRC is %08x, the .gnu_debuglink of %s wants %08x", path, found,
               module->path, *crc);
    } else {
        return file;
    }
    sp_elf_close(file);
    return NULL;
}

/* Goes through the colon-separated folders of a path; false at its end. */
static bool next_folder(const char **path, char *folder, size_t size)
{
    while (**path != '\0') {
        size_t length = strcspn(*path, ":");
        const char *start = *path;
        *path += length + ((*path)[length] == ':');
        if (length > 0 && length < size) {
            memcpy(folder, start, length);
            folder[length] = '\0';
            return true;
        }
    }
    return false;
}

static struct sp_elf *by_build_id(const struct search *search, const char *debug_path)
{
    char id[2 * SP_BUILD_ID_MAX + 1], folder[PATH_MAX], path[PATH_MAX + sizeof id + 32];
    if (search->module->build_id_size < 2)
        return NULL;
    sp_build_id_text(search->module->build_id, search->module->build_id_size, id, sizeof id);
    while (next_folder(&debug_path, folder, sizeof folder)) {
        snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, id, id + 2);
        struct sp_elf *file = try(search, path, NULL);
        if (file != NULL)
            return file;
    }
    return NULL;
}

/* gdb manual, "Debugging Information in Separate Files": the name, padded to 4 bytes, then the CRC. */
static const char *debuglink_of(const struct sp_elf *module, uint32_t *crc)
{
    GElf_Shdr header;
    Elf_Scn *section = sp_elf_section(module, ".gnu_debuglink", &header);
    Elf_Data *data = section == NULL ? NULL : elf_rawdata(section, NULL);
    if (data == NULL || data->d_buf == NULL)
        return NULL;
    size_t length = strnlen(data->d_buf, data->d_size), crc_at = (length + 4) & ~(size_t)3;
    if (length == 0 || length == data->d_size || crc_at > data->d_size || data->d_size - crc_at < sizeof *crc)
        return NULL;
    memcpy(crc, (const char *)data->d_buf + crc_at, sizeof *crc);
    return data->d_buf;
}

static struct sp_elf *by_debuglink(const struct search *search, const char *debug_path)
{
    uint32_t crc;
    const char *name = debuglink_of(search->module, &crc);
    if (name == NULL || strchr(name, '/') != NULL || strlen(name) > NAME_MAX)
        return NULL;
    char real[PATH_MAX], folder[PATH_MAX], path[2 * PATH_MAX + NAME_MAX + 16];
    if (realpath(search->module->path, real) == NULL)
        return NULL;
    *strrchr(real, '/') = '\0';
    struct sp_elf *file;
    snprintf(path, sizeof path, "%s/%s", real, name);
    if ((file = try(search, path, &crc)) != NULL)
        return file;
    snprintf(path, sizeof path, "%s/.debug/%s", real, name);
    if ((file = try(search, path, &crc)) != NULL)
        return file;
    while (next_folder(&debug_path, folder, sizeof folder)) {
        snprintf(path, sizeof path, "%s%s/%s", folder, real, name);
        if ((file = try(search, path, &crc)) != NULL)
            return file;
    }
    return NULL;
}

struct sp_elf *sp_separate_debug_open(const struct sp_elf *module, const char *debug_path, char **why)
{
    struct search search = {module, why};
    struct sp_elf *file = by_build_id(&search, debug_path);
    return file != NULL ? file : by_debuglink(&search, debug_path);
}
