/* SPDX-License-Identifier: MIT */
/* The list of live blocks, sorted by address. */
#include "leaks/record.h"
#include "leaks/scan.h"
#include "leaks/state.h"
#include "module/kernel.h"

#include <string.h>

static size_t page_up(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

/* By eight bits of the address at a time, from the lowest: linear, and needs no memory but the second array. */
static void sort(struct leaks_live *blocks, struct leaks_live *other, size_t count)
{
    for (unsigned shift = 0; shift < 48; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(blocks[i].address >> shift & 255) + 1]++;
        for (unsigned i = 0; i < 256; i++)
            starts[i + 1] += starts[i];
        for (size_t i = 0; i < count; i++)
            other[starts[blocks[i].address >> shift & 255]++] = blocks[i];
        struct leaks_live *swap = blocks;
        blocks = other;
        other = swap;
    }
}

bool leaks_live_list_make(struct leaks_live_list *list)
{
    uint32_t end = leaks_record_end();
    memset(list, 0, sizeof *list);
    for (uint32_t i = LEAKS_SLOT_RECORDS; i < end; i++) {
        if (((i - LEAKS_SLOT_RECORDS) & ((1 << LEAKS_CHUNK_SHIFT) - 1)) == 0 &&
            leaks_chunks[(i - LEAKS_SLOT_RECORDS) >> LEAKS_CHUNK_SHIFT] == NULL) {
            i += (1 << LEAKS_CHUNK_SHIFT) - 1;
            continue;
        }
        list->room += __atomic_load_n(&leaks_record_get(i)->address, __ATOMIC_RELAXED) != 0;
    }
    list->room += list->room / 8 + 1024; /* threads go on meanwhile */
    list->blocks = sp_map_pages(page_up(list->room * sizeof *list->blocks));
    list->sizes = sp_map_pages(page_up(list->room * sizeof *list->sizes));
    struct leaks_live *other = sp_map_pages(page_up(list->room * sizeof *other));
    if (list->blocks == NULL || list->sizes == NULL || other == NULL) {
        if (other != NULL)
            sp_unmap_pages(other, page_up(list->room * sizeof *other));
        leaks_live_list_free(list);
        return false;
    }
    for (uint32_t i = LEAKS_SLOT_RECORDS; i < end && list->count < list->room; i++) {
        if (leaks_chunks[(i - LEAKS_SLOT_RECORDS) >> LEAKS_CHUNK_SHIFT] == NULL)
            continue;
        const struct leaks_record *record = leaks_record_get(i);
        uintptr_t address = __atomic_load_n(&record->address, __ATOMIC_ACQUIRE);
        if (address != 0)
            list->blocks[list->count++] = (struct leaks_live){.address = address,
                                                              .record = i,
                                                              .is_hidden = record->hidden != 0,
                                                              .is_inherited = record->epoch != (leaks_epoch & 255)};
    }
    sort(list->blocks, other, list->count);
    sp_unmap_pages(other, page_up(list->room * sizeof *other));
    for (size_t i = 0; i < list->count; i++)
        list->sizes[i] = leaks_record_get(list->blocks[i].record)->size;
    return true;
}

void leaks_live_list_free(struct leaks_live_list *list)
{
    if (list->blocks != NULL)
        sp_unmap_pages(list->blocks, page_up(list->room * sizeof *list->blocks));
    if (list->sizes != NULL)
        sp_unmap_pages(list->sizes, page_up(list->room * sizeof *list->sizes));
    memset(list, 0, sizeof *list);
}
