/* SPDX-License-Identifier: MIT */
#include "leaks/snapshot.h"

#include "leaks/block.h"
#include "leaks/scan.h"
#include "leaks/stop.h"

#include <string.h>

static uint32_t count_unanswered(const struct leaks_stopped *threads, size_t count)
{
    uint32_t unanswered = 0;
    for (size_t i = 0; i < count; i++)
        unanswered += !threads[i].has_answered;
    return unanswered;
}

static bool has_shown(const struct leaks_live_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (leaks_is_shown(&list->blocks[i]))
            return true;
    return false;
}

static void check_guards(const struct leaks_live_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct leaks_live *live = &list->blocks[i];
        if (live->is_damaged)
            leaks_block_damaged(NULL, live->address, 0, LEAKS_MALLOC, 0);
        else if (leaks_is_shown(live) && leaks_guard_damage(live->address, list->sizes[i]) != 0)
            leaks_block_damaged(&list->records[i], live->address, list->sizes[i], LEAKS_MALLOC, 0);
    }
}

static bool take(struct leaks_snapshot *snapshot, const struct leaks_maps *maps, uintptr_t sp,
                 const struct leaks_stopped *threads, size_t thread_count, enum leaks_aim aim)
{
    if (!leaks_live_list_make(&snapshot->list, maps))
        return false;
    for (size_t i = 0; i < snapshot->list.count && aim == LEAKS_MARK; i++)
        leaks_block_mark((const void *)snapshot->list.blocks[i].address, LEAKS_REPORTED);
    if (aim == LEAKS_SCAN || (aim == LEAKS_CHECK && leaks_options.scan))
        snapshot->is_scanned =
            !has_shown(&snapshot->list) || leaks_scan(&snapshot->list, maps, sp, threads, thread_count);
    if (aim >= LEAKS_CHECK)
        check_guards(&snapshot->list);
    return true;
}

bool leaks_snapshot_take(struct leaks_snapshot *snapshot, uintptr_t sp, enum leaks_aim aim)
{
    const struct leaks_stopped *threads;
    struct leaks_maps maps;
    memset(snapshot, 0, sizeof *snapshot);
    size_t thread_count = leaks_stop_others(&threads);
    snapshot->unanswered = count_unanswered(threads, thread_count);
    bool is_good = leaks_maps_read(&maps) && take(snapshot, &maps, sp, threads, thread_count, aim);
    leaks_go_on();
    leaks_maps_free(&maps);
    return is_good;
}

void leaks_snapshot_free(struct leaks_snapshot *snapshot)
{
    leaks_live_list_free(&snapshot->list);
}
