/* SPDX-License-Identifier: MIT */
#include "leaks/live.h"

#include "leaks/block.h"
#include "leaks/slot.h"
#include "leaks/state.h"
#include "module/kernel.h"

#include <string.h>

static size_t page_up(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

/* The leaves' numbers, ascending. They are few, and mostly made in this order. */
static uint32_t *sort_leaves(size_t *count, size_t *room)
{
    uint32_t number;
    size_t made = 0;
    while (leaks_leaf_number(made, &number))
        made++;
    *count = 0;
    *room = page_up((made + 1) * sizeof(uint32_t));
    uint32_t *numbers = sp_map_pages(*room);
    for (size_t i = 0; numbers != NULL && i < made && leaks_leaf_number(i, &number); i++) {
        if (number == UINT32_MAX)
            continue;
        size_t at = (*count)++;
        for (; at > 0 && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
    return numbers;
}

static bool is_mapped(const struct leaks_maps *maps, uintptr_t start, uintptr_t end)
{
    static const struct leaks_mapping none, *last = &none;
    static const struct leaks_maps *last_maps;
    if (last_maps != maps || start < last->start || end > last->end) {
        const struct leaks_mapping *first = leaks_maps_find(maps, start);
        last_maps = maps;
        last = first == NULL ? &none : first;
        if (first == NULL || !first->is_readable)
            return false;
        if (end > first->end) {
            const struct leaks_mapping *second = leaks_maps_find(maps, end - 1);
            return second != NULL && second->is_readable;
        }
    }
    return last->is_readable;
}

/* Returns false where it is no block. Of an overwritten record nothing is believed. */
static bool look_at(const struct leaks_maps *maps, uintptr_t address, uint16_t slot, struct leaks_record *record,
                    uint64_t *size, bool *is_whole)
{
    if (!is_mapped(maps, address - 16, address))
        return false;
    const struct leaks_record *place = leaks_record_at(address, slot);
    if ((uintptr_t)place < address || !is_mapped(maps, (uintptr_t)place - 8, (uintptr_t)(place + 1)))
        return false;
    uint64_t room = (uintptr_t)place - address;
    *record = *place;
    *size = leaks_record_size(place, address);
    *is_whole = leaks_record_is_whole(place, *size, room);
    if (*is_whole)
        return true;
    *size = *size < room ? *size : room;
    record->trace = 0;
    record->kind = LEAKS_MALLOC;
    record->marks = 0;
    record->epoch = leaks_epoch;
    return true;
}

static void add(struct leaks_live_list *list, uintptr_t address, const struct leaks_record *record, uint64_t size,
                bool is_whole)
{
    if (list->count == list->room)
        return;
    list->sizes[list->count] = size;
    list->records[list->count] = *record;
    list->blocks[list->count++] = (struct leaks_live){.address = address,
                                                      .is_hidden = record->marks != 0,
                                                      .is_inherited = record->epoch != (leaks_epoch & 255),
                                                      .is_damaged = !is_whole};
}

/* Counts the blocks of a leaf, and adds them to the list where there is one. */
static size_t walk_leaf(uint32_t number, const struct leaks_maps *maps, struct leaks_live_list *list)
{
    const struct leaks_leaf *leaf = leaks_leaves[number];
    size_t count = 0;
    for (size_t group = 0; group < sizeof leaf->is_used; group++) {
        if (!leaf->is_used[group])
            continue;
        const uint16_t *slots = leaf->slots + (group << LEAKS_GROUP_SHIFT);
        for (size_t i = 0; i < 1 << LEAKS_GROUP_SHIFT; i++) {
            if (slots[i] < LEAKS_SLOT_LARGE)
                continue;
            count++;
            if (list == NULL)
                continue;
            uintptr_t address =
                ((uintptr_t)number << LEAKS_LEAF_SHIFT) + ((group << LEAKS_GROUP_SHIFT) + i) * (uintptr_t)16;
            struct leaks_record record;
            uint64_t size;
            bool is_whole;
            if (look_at(maps, address, slots[i], &record, &size, &is_whole))
                add(list, address, &record, size, is_whole);
        }
    }
    return count;
}

bool leaks_live_list_make(struct leaks_live_list *list, const struct leaks_maps *maps)
{
    size_t leaf_count, leaf_room;
    uint32_t *leaves = sort_leaves(&leaf_count, &leaf_room);
    memset(list, 0, sizeof *list);
    if (leaves == NULL)
        return false;
    for (size_t i = 0; i < leaf_count; i++)
        list->room += walk_leaf(leaves[i], maps, NULL);
    list->room += list->room / 8 + 64; /* a thread that could not be stopped goes on meanwhile */
    list->blocks = sp_map_pages(page_up(list->room * sizeof *list->blocks));
    list->sizes = sp_map_pages(page_up(list->room * sizeof *list->sizes));
    list->records = sp_map_pages(page_up(list->room * sizeof *list->records));
    bool is_good = list->blocks != NULL && list->sizes != NULL && list->records != NULL;
    for (size_t i = 0; i < leaf_count && is_good; i++)
        walk_leaf(leaves[i], maps, list);
    sp_unmap_pages(leaves, leaf_room);
    if (!is_good)
        leaks_live_list_free(list);
    return is_good;
}

void leaks_live_list_free(struct leaks_live_list *list)
{
    if (list->blocks != NULL)
        sp_unmap_pages(list->blocks, page_up(list->room * sizeof *list->blocks));
    if (list->sizes != NULL)
        sp_unmap_pages(list->sizes, page_up(list->room * sizeof *list->sizes));
    if (list->records != NULL)
        sp_unmap_pages(list->records, page_up(list->room * sizeof *list->records));
    memset(list, 0, sizeof *list);
}
