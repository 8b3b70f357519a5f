/* SPDX-License-Identifier: MIT */
#include "leaks/scan.h"

#include "leaks/exclude.h"
#include "module/kernel.h"

#include <fcntl.h>
#include <string.h>

enum { REGION_SHIFT = 24, REGIONS = 1 << (47 - REGION_SHIFT) };

struct search {
    struct leaks_live_list *list;
    uint32_t *pending; /* blocks whose content is still to be read */
    size_t pending_count;
    uintptr_t lowest, highest;
    int pagemap; /* of /proc/self, or -1 */
};

/* Which regions of 16 MiB hold any part of a block. */
static uint8_t has_block[REGIONS / 8];

static void mark_regions(const struct leaks_live_list *list)
{
    memset(has_block, 0, sizeof has_block);
    for (size_t i = 0; i < list->count; i++) {
        uintptr_t last = (list->blocks[i].address + list->sizes[i]) >> REGION_SHIFT;
        for (uintptr_t region = list->blocks[i].address >> REGION_SHIFT; region <= last && region < REGIONS; region++)
            has_block[region / 8] |= (uint8_t)(1 << region % 8);
    }
}

/* The block that holds an address; SIZE_MAX where none does. A block of no size holds its own address. */
static size_t find_block(const struct search *search, uintptr_t address)
{
    const struct leaks_live *blocks = search->list->blocks;
    if (address < search->lowest || address > search->highest)
        return SIZE_MAX;
    uintptr_t region = address >> REGION_SHIFT;
    if (!(has_block[region / 8] >> region % 8 & 1))
        return SIZE_MAX;
    size_t low = 0, count = search->list->count;
    while (count > 1) {
        size_t half = count / 2;
        low = blocks[low + half].address <= address ? low + half : low;
        count -= half;
    }
    uint64_t size = search->list->sizes[low], offset = address - blocks[low].address;
    return blocks[low].address <= address && (offset < size || offset == 0) ? low : SIZE_MAX;
}

/* Blocks that the words of [start, end) point to and that are UNKNOWN become `class`, and pending; but not `self`. */
static void read_words(struct search *search, uintptr_t start, uintptr_t end, enum leaks_class class, size_t self)
{
    for (uintptr_t at = (start + 7) & ~(uintptr_t)7; at + 8 <= end; at += 8) {
        size_t found = find_block(search, *(const uintptr_t *)at);
        if (found == SIZE_MAX || found == self || search->list->blocks[found].class != LEAKS_UNKNOWN)
            continue;
        search->list->blocks[found].class = (uint8_t) class;
        search->pending[search->pending_count++] = (uint32_t)found;
    }
}

static void follow(struct search *search, enum leaks_class class)
{
    while (search->pending_count > 0) {
        size_t block = search->pending[--search->pending_count];
        uintptr_t address = search->list->blocks[block].address;
        read_words(search, address, address + search->list->sizes[block], class, block);
    }
}

/* Only pages that are in memory or swapped out are read: the others are still as they were mapped, and hold nothing. */
static void read_pages(struct search *search, uintptr_t start, uintptr_t end)
{
    uint64_t entries[512];
    for (uintptr_t at = start; at < end;) {
        uintptr_t page = at & ~(uintptr_t)4095, count = (end - page + 4095) / 4096;
        if (count > 512)
            count = 512;
        long size = search->pagemap < 0 ? -1
                                        : sp_syscall6(SYS_pread64, search->pagemap, (long)entries, (long)count * 8,
                                                      (long)(page / 4096 * 8), 0, 0);
        for (uintptr_t i = 0; i < count; i++, page += 4096) {
            uintptr_t first = page < start ? start : page, last = page + 4096 < end ? page + 4096 : end;
            if (size < 0 || (long)i * 8 + 8 > size || entries[i] >> 62 != 0)
                read_words(search, first, last, LEAKS_REACHABLE, SIZE_MAX);
        }
        at = page;
    }
}

static bool is_root(const struct leaks_mapping *mapping)
{
    if (!mapping->is_readable || !mapping->is_writable)
        return false;
    bool is_device = mapping->name_size > 5 && memcmp(mapping->name, "/dev/", 5) == 0;
    return !is_device || (mapping->name_size > 9 && memcmp(mapping->name, "/dev/shm/", 9) == 0) ||
           (mapping->name_size >= 9 && memcmp(mapping->name, "/dev/zero", 9) == 0);
}

static void read_roots(struct search *search, const struct leaks_maps *maps)
{
    size_t count;
    const struct leaks_range *excluded = leaks_excluded(&count);
    size_t next = 0;
    for (size_t i = 0; i < maps->count; i++) {
        const struct leaks_mapping *mapping = &maps->mappings[i];
        if (!is_root(mapping))
            continue;
        uintptr_t at = mapping->start;
        while (next < count && excluded[next].end <= at)
            next++;
        for (size_t j = next; j < count && excluded[j].start < mapping->end; j++) {
            if (excluded[j].start > at)
                read_pages(search, at, excluded[j].start);
            if (excluded[j].end > at)
                at = excluded[j].end;
        }
        if (at < mapping->end)
            read_pages(search, at, mapping->end);
    }
}

/*
 * Those that are not reachable: definite where no other such block points to it, else indirect. Of a ring of blocks
 * that only point to each other the oldest is taken for definite, so that each lost structure has one that is.
 */
static void divide_lost(struct search *search)
{
    struct leaks_live_list *list = search->list;
    for (size_t i = 0; i < list->count; i++)
        if (list->blocks[i].class == LEAKS_UNKNOWN || list->blocks[i].class == LEAKS_INDIRECT)
            read_words(search, list->blocks[i].address, list->blocks[i].address + list->sizes[i], LEAKS_INDIRECT, i);
    search->pending_count = 0;
    /* What is UNKNOWN now is definite. What it leads to is indirect for good (marked by is_hidden's second bit). */
    enum { SETTLED = 2 };
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < list->count; i++) {
            struct leaks_live *block = &list->blocks[i];
            bool is_first = pass == 0 ? block->class == LEAKS_UNKNOWN
                                      : block->class == LEAKS_INDIRECT && !(block->is_hidden & SETTLED);
            if (!is_first)
                continue;
            block->class = LEAKS_DEFINITE;
            block->is_hidden |= SETTLED;
            search->pending[search->pending_count++] = (uint32_t)i;
            while (search->pending_count > 0) {
                size_t from = search->pending[--search->pending_count];
                uintptr_t at = (list->blocks[from].address + 7) & ~(uintptr_t)7;
                uintptr_t end = list->blocks[from].address + list->sizes[from];
                for (; at + 8 <= end; at += 8) {
                    size_t found = find_block(search, *(const uintptr_t *)at);
                    if (found == SIZE_MAX || list->blocks[found].class != LEAKS_INDIRECT ||
                        list->blocks[found].is_hidden & SETTLED)
                        continue;
                    list->blocks[found].is_hidden |= SETTLED;
                    search->pending[search->pending_count++] = (uint32_t)found;
                }
            }
        }
    }
    for (size_t i = 0; i < list->count; i++)
        list->blocks[i].is_hidden &= (uint8_t)~SETTLED;
}

bool leaks_scan(struct leaks_live_list *list, const struct leaks_maps *maps, uintptr_t sp,
                const struct leaks_stopped *threads, size_t thread_count)
{
    struct search search = {.list = list, .pagemap = -1};
    size_t room = (list->count * sizeof *search.pending + 4096) & ~(size_t)4095;
    if (list->count == 0)
        return true;
    search.pending = sp_map_pages(room);
    if (search.pending == NULL)
        return false;
    bool is_good = leaks_exclude(list, maps, sp, threads, thread_count);
    if (is_good) {
        size_t last = list->count - 1;
        search.lowest = list->blocks[0].address;
        search.highest = list->blocks[last].address + list->sizes[last];
        search.pagemap = (int)sp_syscall6(SYS_open, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
        mark_regions(list);
        read_roots(&search, maps);
        follow(&search, LEAKS_REACHABLE);
        divide_lost(&search);
        if (search.pagemap >= 0)
            sp_syscall6(SYS_close, search.pagemap, 0, 0, 0, 0, 0);
    }
    sp_unmap_pages(search.pending, room);
    return is_good;
}
