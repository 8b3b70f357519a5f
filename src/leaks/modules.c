/* SPDX-License-Identifier: MIT */
#include "leaks/modules.h"

#include "leaks/own.h"
#include "leaks/state.h"
#include "leaks/trace.h"
#include "module/kernel.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum { MODULES_MAX = 16384, TEXT_CHUNK = 1 << 20 };

static struct leaks_known_module modules[MODULES_MAX];
static size_t module_count;
static char *text;
static size_t text_left;

static const char *keep(const char *bytes, size_t size)
{
    if (text == NULL || text_left < size) {
        text = leaks_own_map(TEXT_CHUNK);
        text_left = text == NULL ? 0 : TEXT_CHUNK;
    }
    if (text_left < size)
        return NULL;
    memcpy(text, bytes, size);
    text_left -= size;
    text += size;
    return text - size;
}

/* The build-id in the notes at [at, at + size): name size, descriptor size, type, name and descriptor padded to 4. */
static void read_build_id(const char *at, size_t size, struct leaks_module *module)
{
    while (size >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)at;
        size_t name = ((size_t)note->n_namesz + 3) & ~(size_t)3, descriptor = ((size_t)note->n_descsz + 3) & ~(size_t)3;
        if (name > size - sizeof *note || descriptor > size - sizeof *note - name)
            return;
        const char *bytes = at + sizeof *note;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(bytes, "GNU", 4) == 0 &&
            note->n_descsz <= sizeof module->build_id) {
            module->build_id_size = note->n_descsz;
            memcpy(module->build_id, bytes + name, note->n_descsz);
            return;
        }
        at = bytes + name + descriptor;
        size -= sizeof *note + name + descriptor;
    }
}

/* As a file is read: another thread may close the module meanwhile. Returns how much is there. */
static size_t read_memory(uintptr_t address, size_t size, char *bytes)
{
    struct iovec from = {(void *)address, size}, to = {bytes, size};
    long count = sp_syscall6(SYS_process_vm_readv, leaks_process_id, (long)&to, 1, (long)&from, 1, 0);
    if (count == -EPERM || count == -ENOSYS) {
        /* A container's filter may not let it through. */
        memcpy(bytes, (const void *)address, size);
        return size;
    }
    return count < 0 ? 0 : (size_t)count;
}

/* first: a mapping of offset 0; last: the last one of the same file. */
static bool read_module(const struct leaks_mapping *first, uintptr_t end, struct leaks_module *module)
{
    static _Alignas(8) char head[4096], notes[4096];
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)head;
    size_t mapped = first->end - first->start;
    size_t room = read_memory(first->start, mapped < sizeof head ? mapped : sizeof head, head);
    if (room < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > room ||
        header->e_phnum > (room - header->e_phoff) / sizeof(Elf64_Phdr))
        return false;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(head + header->e_phoff);
    bool has_bias = false;
    module->start = first->start;
    module->end = end;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type != PT_LOAD)
            continue;
        if (!has_bias)
            module->bias = first->start - (segments[i].p_vaddr & ~UINT64_C(4095));
        has_bias = true;
        uint64_t segment_end = module->bias + segments[i].p_vaddr + segments[i].p_memsz;
        if (segment_end > module->end)
            module->end = segment_end;
    }
    for (int i = 0; i < header->e_phnum && has_bias; i++) {
        uint64_t at = module->bias + segments[i].p_vaddr;
        if (segments[i].p_type == PT_NOTE && at >= first->start && at <= first->end &&
            segments[i].p_memsz <= first->end - at && segments[i].p_memsz <= sizeof notes &&
            read_memory(at, segments[i].p_memsz, notes) == segments[i].p_memsz)
            read_build_id(notes, segments[i].p_memsz, module);
    }
    return has_bias;
}

static bool same_name(const struct leaks_mapping *a, const struct leaks_mapping *b)
{
    return a->name_size == b->name_size && memcmp(a->name, b->name, a->name_size) == 0;
}

static bool is_known(const struct leaks_module *module, const struct leaks_mapping *mapping)
{
    for (size_t i = 0; i < module_count; i++) {
        struct leaks_known_module *known = &modules[i];
        if (known->is_loaded && known->module.start == module->start && known->module.end == module->end &&
            known->module.path_size == mapping->name_size &&
            memcmp(known->path, mapping->name, mapping->name_size) == 0 &&
            memcmp(known->module.build_id, module->build_id, sizeof module->build_id) == 0) {
            known->module.last_closes = UINT32_MAX;
            return true;
        }
    }
    return false;
}

static void add(const struct leaks_mapping *mapping, struct leaks_module *module)
{
    if (is_known(module, mapping) || module_count == MODULES_MAX)
        return;
    const char *path = keep(mapping->name, mapping->name_size);
    if (path == NULL)
        return;
    module->path_size = (uint32_t)mapping->name_size;
    module->first_closes = leaks_trace_closes();
    module->last_closes = UINT32_MAX;
    modules[module_count] = (struct leaks_known_module){*module, true, path};
    __atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
}

static int32_t holder; /* the thread that updates, or 0 */

void leaks_modules_forked(void)
{
    holder = 0;
}

/* Waits for another thread; false where this one does so already, and a handler has interrupted it. */
static bool take(void)
{
    int32_t self = (int32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0), none = 0;
    while (!__atomic_compare_exchange_n(&holder, &none, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (none == self)
            return false;
        none = 0;
        sp_syscall6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    }
    return true;
}

static void update(const struct leaks_maps *maps)
{
    bool is_gone = false;
    for (size_t i = 0; i < module_count; i++)
        if (modules[i].is_loaded)
            modules[i].module.last_closes = leaks_trace_closes();
    for (size_t i = 0; i < maps->count; i++) {
        const struct leaks_mapping *first = &maps->mappings[i];
        bool has_code = first->is_executable;
        size_t last = i;
        if (first->offset != 0 || !first->is_readable || first->name_size == 0 ||
            (first->name[0] != '/' && !(first->name_size == 6 && memcmp(first->name, "[vdso]", 6) == 0)))
            continue;
        while (last + 1 < maps->count && same_name(first, &maps->mappings[last + 1]) &&
               maps->mappings[last + 1].offset != 0)
            has_code |= maps->mappings[++last].is_executable;
        struct leaks_module module = {0};
        if (has_code && read_module(first, maps->mappings[last].end, &module))
            add(first, &module);
    }
    for (size_t i = 0; i < module_count; i++)
        if (modules[i].is_loaded && modules[i].module.last_closes != UINT32_MAX) {
            modules[i].is_loaded = false;
            is_gone = true;
        }
    if (is_gone)
        leaks_trace_module_closed();
}

void leaks_modules_update(void)
{
    struct leaks_maps maps;
    if (!take())
        return;
    if (leaks_maps_read(&maps))
        update(&maps);
    leaks_maps_free(&maps);
    __atomic_store_n(&holder, 0, __ATOMIC_RELEASE);
}

const struct leaks_known_module *leaks_modules_get(size_t index)
{
    return index < __atomic_load_n(&module_count, __ATOMIC_ACQUIRE) ? &modules[index] : NULL;
}
