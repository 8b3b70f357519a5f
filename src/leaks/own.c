/* SPDX-License-Identifier: MIT */
#include "leaks/own.h"

#include "module/kernel.h"

enum { RANGES_MAX = 1 << 16 };

static struct leaks_range ranges[RANGES_MAX];
static uint32_t range_count;
static uint64_t size_mapped;

void *leaks_own_map(size_t size)
{
    if (__atomic_load_n(&range_count, __ATOMIC_RELAXED) >= RANGES_MAX)
        return NULL;
    void *pages = sp_map_pages(size);
    if (pages == NULL)
        return NULL;
    sp_syscall6(SYS_madvise, (long)pages, (long)size, MADV_NOHUGEPAGE, 0, 0, 0);
    uint32_t index = __atomic_fetch_add(&range_count, 1, __ATOMIC_RELAXED);
    if (index >= RANGES_MAX) {
        sp_unmap_pages(pages, size);
        return NULL;
    }
    ranges[index].end = (uintptr_t)pages + size;
    __atomic_store_n(&ranges[index].start, (uintptr_t)pages, __ATOMIC_RELEASE);
    __atomic_fetch_add(&size_mapped, size, __ATOMIC_RELAXED);
    return pages;
}

bool leaks_own_range(size_t index, struct leaks_range *range)
{
    uint32_t count = __atomic_load_n(&range_count, __ATOMIC_ACQUIRE);
    if (index >= count || index >= RANGES_MAX)
        return false;
    range->start = __atomic_load_n(&ranges[index].start, __ATOMIC_ACQUIRE);
    range->end = range->start == 0 ? 0 : ranges[index].end;
    return true;
}

uint64_t leaks_own_size(void)
{
    return __atomic_load_n(&size_mapped, __ATOMIC_RELAXED);
}
