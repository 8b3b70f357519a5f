/* SPDX-License-Identifier: MIT */
/* A stack as text, from inside a signal handler: nothing here allocates, locks or uses stdio. */
#include "module/module.h"
#include "symbols/dynamic_symbols.h"
#include "symbols/map_load.h"
#include "symbols/segments.h"

#include <spwalk.h>
#include <spwalk_symbols.h>

#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { FRAMES = 100, LINE = 512 };

struct line {
    char text[LINE];
    size_t length;
};

static void put_bytes(struct line *line, const char *bytes, size_t count)
{
    if (count > sizeof line->text - 1 - line->length)
        count = sizeof line->text - 1 - line->length;
    memcpy(line->text + line->length, bytes, count);
    line->length += count;
}

static void put(struct line *line, const char *text)
{
    put_bytes(line, text, strlen(text));
}

static void put_number(struct line *line, uint64_t value, unsigned base, unsigned least_digits)
{
    char digits[20];
    unsigned count = 0;
    do
        digits[sizeof digits - ++count] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0 || count < least_digits);
    put_bytes(line, digits + sizeof digits - count, count);
}

/* Writes the line and its end. Returns false where it cannot be written. */
static bool write_line(struct line *line, int fd)
{
    line->text[line->length++] = '\n';
    for (size_t done = 0; done < line->length;) {
        ssize_t written = write(fd, line->text + done, line->length - done);
        if (written < 0 && errno != EINTR)
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

static const char *module_path(const struct sp_module *module)
{
    const struct link_map *entry = module->loader_entry;
    if (entry != NULL && entry->l_name != NULL && entry->l_name[0] != '\0')
        return entry->l_name;
    return program_invocation_name;
}

struct found_name {
    char text[256];
    uint64_t offset;
};

static bool name_from_dynamic_symbols(const struct sp_segments *segments, uint64_t lookup, struct found_name *name)
{
    struct sp_dynamic_symbols dynamic;
    struct sp_candidate function;
    if (!sp_dynamic_symbols_open(segments, &dynamic) || !sp_dynamic_symbols_find(&dynamic, lookup, &function))
        return false;
    size_t length = function.name_length < sizeof name->text ? function.name_length : sizeof name->text - 1;
    memcpy(name->text, function.name, length);
    name->text[length] = '\0';
    name->offset = lookup - function.start;
    return true;
}

static bool name_from_map(const struct sp_module *module, uint64_t lookup, struct found_name *name)
{
    const uint8_t *build_id = NULL;
    uint32_t build_id_size = 0;
    for (unsigned i = 0; i < module->phnum && build_id == NULL; i++)
        if (module->phdr[i].p_type == PT_NOTE)
            build_id = sp_note_find((const uint8_t *)(module->bias + module->phdr[i].p_vaddr), module->phdr[i].p_memsz,
                                    module->phdr[i].p_align, "GNU", NT_GNU_BUILD_ID, &build_id_size);
    const struct sp_map_view *map = sp_map_loaded(module_path(module), build_id, build_id_size);
    struct sp_map_function function;
    enum sp_miss miss;
    if (map == NULL || !sp_map_view_find(map, lookup, &function, &miss))
        return false;
    sp_map_view_name(map, &function, name->text, sizeof name->text);
    name->offset = lookup - function.start;
    return true;
}

static bool find_name(const struct sp_module *module, uint64_t lookup, struct found_name *name)
{
    struct sp_segments segments = {.count = 0, .bias = module->bias};
    for (unsigned i = 0; i < module->phnum; i++) {
        const Elf64_Phdr *header = &module->phdr[i];
        sp_segments_add(&segments, header, (const uint8_t *)(module->bias + header->p_vaddr), header->p_memsz);
    }
    return name_from_dynamic_symbols(&segments, lookup, name) || name_from_map(module, lookup, name);
}

/* The module and function of a pc; `before` is what its look-up address lies before it: 1 for a return address. */
static void put_place(struct line *line, uintptr_t pc, unsigned before)
{
    struct sp_module module;
    if (!sp_module_find(pc - before, &module) || (module.phdr == NULL && !sp_module_read_headers(&module)))
        return;
    put(line, "  ");
    put(line, module_path(&module));
    put(line, "+0x");
    put_number(line, pc - module.bias, 16, 1);
    struct found_name name;
    if (!find_name(&module, pc - before - module.bias, &name))
        return;
    put(line, "  ");
    put(line, name.text);
    put(line, "+0x");
    put_number(line, name.offset + before, 16, 1);
}

/* Inlined into both functions, so that each has one frame to leave out. */
static inline __attribute__((always_inline)) int print(const void *ucontext, int fd)
{
    int saved_errno = errno;
    struct sp_frame frames[FRAMES];
    enum sp_end end;
    int count = sp_walk(ucontext, frames, FRAMES, &end);
    int first = ucontext == NULL ? 1 : 0; /* its own frame */
    bool is_written = true;
    for (int i = first; i < count && is_written; i++) {
        struct line line = {.length = 0};
        put(&line, "#");
        put_number(&line, (uint64_t)(i - first), 10, 1);
        put(&line, i - first < 10 ? "  0x" : " 0x");
        put_number(&line, frames[i].pc, 16, 16);
        put_place(&line, frames[i].pc, !frames[i].interrupted);
        is_written = write_line(&line, fd);
    }
    if (is_written && end != SP_END_OUTERMOST) {
        struct line line = {.length = 0};
        put(&line, "the stack goes on, but the walk ended here: ");
        put(&line, sp_end_name(end));
        is_written = write_line(&line, fd);
    }
    errno = saved_errno;
    return is_written ? count - first : -1;
}

API int sp_print_backtrace_context(const void *ucontext, int fd)
{
    return print(ucontext, fd);
}

API int sp_print_backtrace(int fd)
{
    return print(NULL, fd);
}
