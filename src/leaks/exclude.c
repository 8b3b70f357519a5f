/* SPDX-License-Identifier: MIT */
#include "leaks/exclude.h"

#include "leaks/record.h"
#include "leaks/slot.h"
#include "leaks/state.h"
#include "leaks/thread.h"
#include "module/kernel.h"

#include <string.h>

enum {
    /* malloc's: a flag in the size word before a block, and the size of an arena's heap, to which it is aligned. */
    NON_MAIN_ARENA = 4,
    HEAP_SIZE = 64 << 20,
    /* From a thread's control block to the end of its stack's mapping: glibc's struct pthread. The address of the
     * thread's table of thread-local storage is its second word. */
    CONTROL_BLOCK_SIZE = 2304,
    TABLE_OFFSET = 8,
};

static struct leaks_range *ranges;
static size_t range_count, range_room;
/* There are blocks without a record, which may hold pointers: all of the heap counts but the blocks that have one. */
static bool is_heap_read;

static void exclude(uintptr_t start, uintptr_t end)
{
    if (start < end && range_count < range_room)
        ranges[range_count++] = (struct leaks_range){start, end};
}

static void sift(size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && ranges[child].start < ranges[child + 1].start)
            child++;
        if (ranges[root].start >= ranges[child].start)
            return;
        struct leaks_range swap = ranges[root];
        ranges[root] = ranges[child];
        ranges[child] = swap;
    }
}

static void sort(void)
{
    for (size_t i = range_count / 2; i-- > 0;)
        sift(i, range_count);
    for (size_t end = range_count; end-- > 1;) {
        struct leaks_range swap = ranges[0];
        ranges[0] = ranges[end];
        ranges[end] = swap;
        sift(0, end);
    }
}

static void exclude_block(const struct leaks_maps *maps, uintptr_t address, uint64_t size)
{
    static uintptr_t last_start, last_end;
    if (range_count > 0 && address >= last_start && address < last_end && ranges[range_count - 1].start == last_start)
        return;
    uint64_t chunk = leaks_chunk_word(address);
    if (is_heap_read) {
        exclude(address, leaks_chunk_end(address));
        return;
    }
    if (chunk & LEAKS_CHUNK_MMAPPED) {
        uint64_t before = ((const uint64_t *)address)[-2];
        exclude(address - 16 - before, address - 16 + (chunk & ~(uint64_t)LEAKS_CHUNK_FLAGS));
        return;
    }
    const struct leaks_mapping *mapping = leaks_maps_find(maps, address);
    uintptr_t start = mapping == NULL ? address : mapping->start, end = mapping == NULL ? address + size : mapping->end;
    if (chunk & NON_MAIN_ARENA) {
        start = address & ~(uintptr_t)(HEAP_SIZE - 1);
        if (end > start + HEAP_SIZE)
            end = start + HEAP_SIZE;
    }
    last_start = start;
    last_end = end;
    exclude(start, end);
}

/* Heaps in which nothing is live any more: their first word is the address of their arena's state, in the first of its
 * heaps, behind this word and a few others. */
static void exclude_arenas(const struct leaks_maps *maps)
{
    for (size_t i = 0; i < maps->count && !is_heap_read; i++) {
        const struct leaks_mapping *mapping = &maps->mappings[i];
        if (mapping->name_size == 6 && memcmp(mapping->name, "[heap]", 6) == 0)
            exclude(mapping->start, mapping->end);
        if (!mapping->is_writable || !mapping->is_readable || mapping->name_size != 0 ||
            mapping->start % HEAP_SIZE != 0 || leaks_slot_find(mapping->start) == NULL)
            continue;
        uintptr_t arena = *(const uintptr_t *)mapping->start, end = mapping->start + HEAP_SIZE;
        if (arena % HEAP_SIZE >= 16 && arena % HEAP_SIZE <= 64)
            exclude(mapping->start, mapping->end < end ? mapping->end : end);
    }
}

static bool lies_in(const struct leaks_mapping *mapping, uintptr_t address)
{
    return address >= mapping->start && address < mapping->end;
}

/* The stacks of ended threads: of control blocks seen, those whose mapping no thread that runs has its own in. The C
 * library keeps some for later threads, with their tables of thread-local storage. */
static void exclude_ended(const struct leaks_maps *maps, uintptr_t sp, const struct leaks_stopped *threads,
                          size_t thread_count)
{
    uintptr_t own, control_block;
    __asm__("movq %%fs:0, %0" : "=r"(own));
    for (size_t i = 0; i < thread_count; i++)
        if (!threads[i].has_answered)
            return;
    for (size_t i = 0; (control_block = leaks_control_block(i)) != 0; i++) {
        const struct leaks_mapping *mapping = leaks_maps_find(maps, control_block);
        if (mapping == NULL || mapping->name_size != 0 || control_block == own || lies_in(mapping, sp))
            continue;
        bool is_live = false;
        for (size_t j = 0; j < thread_count && !is_live; j++)
            is_live = threads[j].control_block == control_block || lies_in(mapping, threads[j].sp);
        if (is_live)
            continue;
        exclude(mapping->start, control_block + TABLE_OFFSET);
        exclude(control_block + TABLE_OFFSET + 8, control_block + CONTROL_BLOCK_SIZE);
    }
}

static void exclude_below(const struct leaks_maps *maps, uintptr_t sp)
{
    const struct leaks_mapping *mapping = leaks_maps_find(maps, sp);
    bool is_heap = mapping != NULL && mapping->name_size == 6 && memcmp(mapping->name, "[heap]", 6) == 0;
    if (mapping != NULL && !is_heap)
        exclude(mapping->start, sp);
}

/* Whether a block is on its way to another place, and so has no record that could be found. */
static bool is_any_moving(const struct leaks_stopped *threads, size_t thread_count)
{
    for (size_t i = 0; i < thread_count; i++)
        if (!threads[i].has_answered || threads[i].is_moving)
            return true;
    return leaks_own_thread.is_moving != 0;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

bool leaks_exclude(const struct leaks_live_list *list, const struct leaks_maps *maps, uintptr_t sp,
                   const struct leaks_stopped *threads, size_t thread_count)
{
    struct leaks_range own;
    size_t own_count = 0;
    while (leaks_own_range(own_count, &own))
        own_count++;
    if (ranges != NULL)
        sp_unmap_pages(ranges, range_room * sizeof *ranges);
    is_heap_read = leaks_is_partial || is_any_moving(threads, thread_count);
    range_count = 0;
    range_room = (own_count + list->count + 2 * thread_count + 140000) & ~(size_t)4095;
    ranges = sp_map_pages(range_room * sizeof *ranges);
    if (ranges == NULL)
        return false;
    for (size_t i = 0; leaks_own_range(i, &own); i++)
        exclude(own.start, own.end);
    exclude((uintptr_t)__ehdr_start, ((uintptr_t)_end + 4095) & ~(uintptr_t)4095);
    exclude((uintptr_t)ranges, (uintptr_t)(ranges + range_room));
    exclude((uintptr_t)list->blocks, (uintptr_t)(list->blocks + list->room));
    exclude((uintptr_t)list->sizes, (uintptr_t)(list->sizes + list->room));
    exclude((uintptr_t)list->records, (uintptr_t)(list->records + list->room));
    exclude((uintptr_t)maps->text, (uintptr_t)maps->text + maps->text_room);
    exclude((uintptr_t)maps->mappings, (uintptr_t)maps->mappings + maps->mapping_room);
    for (size_t i = 0; i < list->count; i++)
        exclude_block(maps, list->blocks[i].address, list->sizes[i]);
    exclude_arenas(maps);
    exclude_below(maps, sp);
    for (size_t i = 0; i < thread_count; i++)
        if (threads[i].has_answered)
            exclude_below(maps, threads[i].sp);
    exclude_ended(maps, sp, threads, thread_count);
    sort();
    return true;
}

const struct leaks_range *leaks_excluded(size_t *count)
{
    *count = range_count;
    return ranges;
}
