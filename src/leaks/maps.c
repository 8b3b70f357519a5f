/* SPDX-License-Identifier: MIT */
#include "leaks/maps.h"

#include "module/kernel.h"

#include <fcntl.h>
#include <string.h>

enum { LINE_MIN = 49 };

static uint64_t hex(const char **text)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return value;
    }
}

/* START-END rwxp OFFSET MAJOR:MINOR INODE    NAME */
static void parse(const char *line, const char *end, struct leaks_mapping *mapping)
{
    mapping->start = hex(&line);
    line++;
    mapping->end = hex(&line);
    mapping->is_readable = line[1] == 'r';
    mapping->is_writable = line[2] == 'w';
    mapping->is_executable = line[3] == 'x';
    mapping->is_shared = line[4] == 's';
    line += 6;
    mapping->offset = hex(&line);
    for (int words = 0; words < 2; words++) {
        line++;
        while (line < end && *line != ' ')
            line++;
    }
    while (line < end && *line == ' ')
        line++;
    mapping->name = line;
    mapping->name_size = (size_t)(end - line);
}

/* The kernel gives whole lines and may change the table between two reads, so it is read in as few as can be. */
static size_t read_all(char *text, size_t room)
{
    long file = sp_syscall6(SYS_open, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
    size_t size = 0;
    long part = file;
    while (file >= 0 && size < room &&
           (part = sp_syscall6(SYS_read, file, (long)(text + size), (long)(room - size), 0, 0, 0)) > 0)
        size += (size_t)part;
    if (file >= 0)
        sp_syscall6(SYS_close, file, 0, 0, 0, 0, 0);
    return part < 0 ? 0 : size;
}

bool leaks_maps_read(struct leaks_maps *maps)
{
    memset(maps, 0, sizeof *maps);
    for (size_t room = (size_t)1 << 20; room <= (size_t)1 << 28; room *= 4) {
        char *text = sp_map_pages(room);
        if (text == NULL)
            return false;
        size_t size = read_all(text, room);
        if (size == 0 || size == room) {
            sp_unmap_pages(text, room);
            if (size == 0)
                return false;
            continue;
        }
        maps->text = text;
        maps->text_room = room;
        maps->mapping_room = (size / LINE_MIN + 1) * sizeof *maps->mappings;
        maps->mappings = sp_map_pages(maps->mapping_room);
        if (maps->mappings == NULL) {
            leaks_maps_free(maps);
            return false;
        }
        for (const char *line = text, *end; line < text + size; line = end + 1) {
            end = memchr(line, '\n', (size_t)(text + size - line));
            if (end == NULL)
                break;
            parse(line, end, &maps->mappings[maps->count++]);
        }
        return true;
    }
    return false;
}

void leaks_maps_free(struct leaks_maps *maps)
{
    if (maps->text != NULL)
        sp_unmap_pages(maps->text, maps->text_room);
    if (maps->mappings != NULL)
        sp_unmap_pages(maps->mappings, maps->mapping_room);
    memset(maps, 0, sizeof *maps);
}

const struct leaks_mapping *leaks_maps_find(const struct leaks_maps *maps, uintptr_t address)
{
    size_t low = 0, high = maps->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (maps->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < maps->count && maps->mappings[low].start <= address ? &maps->mappings[low] : NULL;
}
