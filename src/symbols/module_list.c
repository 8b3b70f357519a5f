/* SPDX-License-Identifier: MIT */
#include "module_list.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "elf_file.h"

struct sp_modules {
    struct sp_loaded_module *modules; /* sorted by start, disjoint */
    size_t count;
    size_t capacity;
};

struct sp_modules *sp_modules_new(void)
{
    return calloc(1, sizeof(struct sp_modules));
}

static void free_contents(struct sp_loaded_module *module)
{
    free((char *)module->path);
    free((uint8_t *)module->build_id);
}

void sp_modules_free(struct sp_modules *modules)
{
    if (modules == NULL)
        return;
    for (size_t i = 0; i < modules->count; i++)
        free_contents(&modules->modules[i]);
    free(modules->modules);
    free(modules);
}

size_t sp_modules_count(const struct sp_modules *modules)
{
    return modules == NULL ? 0 : modules->count;
}

const struct sp_loaded_module *sp_modules_get(const struct sp_modules *modules, size_t index)
{
    return index < sp_modules_count(modules) ? &modules->modules[index] : NULL;
}

/* How many modules begin at or below an address. */
static size_t begun_at(const struct sp_modules *modules, uintptr_t address)
{
    size_t low = 0, high = modules->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (modules->modules[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sp_loaded_module *sp_modules_find(const struct sp_modules *modules, uintptr_t address)
{
    size_t begun = begun_at(modules, address);
    if (begun == 0 || address >= modules->modules[begun - 1].end)
        return NULL;
    return &modules->modules[begun - 1];
}

static int find_extent(struct sp_loaded_module *module)
{
    struct sp_elf *file = sp_elf_open(module->path, NULL);
    if (file == NULL) {
        errno = access(module->path, R_OK) != 0 ? errno : ENOEXEC;
        return -1;
    }
    size_t headers;
    uint64_t low = UINT64_MAX, high = 0;
    if (elf_getphdrnum(file->elf, &headers) != 0)
        headers = 0;
    for (size_t i = 0; i < headers; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(file->elf, (int)i, &header) == NULL || header.p_type != PT_LOAD)
            continue;
        if (header.p_vaddr < low)
            low = header.p_vaddr;
        if (header.p_memsz <= UINT64_MAX - header.p_vaddr && header.p_vaddr + header.p_memsz > high)
            high = header.p_vaddr + header.p_memsz;
    }
    sp_elf_close(file);
    if (high <= low) {
        errno = ENOEXEC;
        return -1;
    }
    module->start = low + module->bias;
    module->end = high + module->bias;
    if (module->end < module->start) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

int sp_modules_add(struct sp_modules *modules, const struct sp_loaded_module *given)
{
    if (modules == NULL || given == NULL || given->path == NULL || given->end < given->start ||
        (given->build_id != NULL && given->build_id_size > SP_BUILD_ID_MAX)) {
        errno = EINVAL;
        return -1;
    }
    struct sp_loaded_module module = *given;
    if (module.start == 0 && module.end == 0 && find_extent(&module) != 0)
        return -1;
    size_t at = begun_at(modules, module.start);
    if ((at > 0 && modules->modules[at - 1].end > module.start) ||
        (at < modules->count && modules->modules[at].start < module.end)) {
        errno = EINVAL;
        return -1;
    }
    if (modules->count == modules->capacity) {
        size_t capacity = modules->capacity == 0 ? 16 : 2 * modules->capacity;
        struct sp_loaded_module *moved = realloc(modules->modules, capacity * sizeof *moved);
        if (moved == NULL)
            return -1;
        modules->modules = moved;
        modules->capacity = capacity;
    }
    module.path = strdup(given->path);
    module.build_id = NULL;
    module.build_id_size = 0;
    if (given->build_id != NULL && given->build_id_size > 0) {
        uint8_t *id = malloc(given->build_id_size);
        if (id != NULL)
            memcpy(id, given->build_id, given->build_id_size);
        module.build_id = id;
        module.build_id_size = given->build_id_size;
    }
    if (module.path == NULL || (module.build_id == NULL && module.build_id_size > 0)) {
        free_contents(&module);
        errno = ENOMEM;
        return -1;
    }
    memmove(&modules->modules[at + 1], &modules->modules[at], (modules->count - at) * sizeof module);
    modules->modules[at] = module;
    modules->count++;
    return 0;
}

/* The file mapped at an address, of /proc/self/maps, for a module whose name is relative to a folder left since. */
static int mapped_path(uintptr_t address, char *path, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    int found = 0;
    while (maps != NULL && !found && getline(&line, &room, maps) > 0) {
        uintptr_t start, end;
        const char *name = strchr(line, '/');
        if (name == NULL || sscanf(line, "%lx-%lx", &start, &end) != 2 || address < start || address >= end)
            continue;
        found = snprintf(path, size, "%.*s", (int)strcspn(name, "\n"), name) < (int)size;
    }
    free(line);
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void find_path(struct sp_loaded_module *module, const char *name, char *path, size_t size)
{
    module->path = name;
    if (name[0] == '/' || module->start == getauxval(AT_SYSINFO_EHDR))
        return;
    if (name[0] == '\0') {
        ssize_t length = readlink("/proc/self/exe", path, size - 1);
        if (length > 0) {
            path[length] = '\0';
            module->path = path;
        }
        return;
    }
    if (mapped_path(module->start, path, size))
        module->path = path;
}

static int take_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct sp_modules *modules = context;
    struct sp_loaded_module module = {.start = UINTPTR_MAX, .bias = info->dlpi_addr};
    struct sp_segments segments = {0};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_memsz;
        if (header->p_type != PT_LOAD)
            continue;
        module.start = start < module.start ? start : module.start;
        module.end = end > module.end ? end : module.end;
        sp_segments_add(&segments, header, (const uint8_t *)start, header->p_memsz);
    }
    if (module.end <= module.start)
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum && module.build_id == NULL; i++) {
        uint32_t id_size = 0;
        module.build_id = sp_segments_build_id(&segments, &info->dlpi_phdr[i], &id_size);
        module.build_id_size = id_size;
    }
    if (module.build_id_size > SP_BUILD_ID_MAX)
        module.build_id = NULL;
    char path[PATH_MAX];
    find_path(&module, info->dlpi_name == NULL ? "" : info->dlpi_name, path, sizeof path);
    return sp_modules_add(modules, &module) != 0 && errno == ENOMEM;
}

struct sp_modules *sp_modules_now(void)
{
    int error = errno;
    struct sp_modules *modules = sp_modules_new();
    if (modules != NULL && dl_iterate_phdr(take_module, modules) != 0) {
        sp_modules_free(modules);
        return NULL;
    }
    errno = error;
    return modules;
}

static int take_counts(struct dl_phdr_info *info, size_t size, void *context)
{
    struct sp_module_counts *counts = context;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *counts = (struct sp_module_counts){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

struct sp_module_counts sp_module_counts_now(void)
{
    struct sp_module_counts counts = {0};
    dl_iterate_phdr(take_counts, &counts);
    return counts;
}
