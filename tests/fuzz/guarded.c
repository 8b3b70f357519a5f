/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "guarded.h"

#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Free in a process, also one under AddressSanitizer. */
#define PLACE ((uint8_t *)UINT64_C(0x500000000000))

static void map(void)
{
    static int mapped;
    if (mapped)
        return;
    mapped = 1;
    if (mmap(PLACE, GUARDED_MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
            PLACE ||
        mmap(PLACE + GUARDED_MOST, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
            MAP_FAILED)
        abort();
}

uint8_t *guarded_copy(const uint8_t *data, size_t size)
{
    static size_t before; /* the last copy's size */
    map();
    if (size > GUARDED_MOST)
        abort();
    uint8_t *copy = PLACE + GUARDED_MOST - size;
    size_t touched = size > before ? size : before;
    ASAN_UNPOISON_MEMORY_REGION(PLACE + GUARDED_MOST - touched, touched);
    if (size != 0)
        memcpy(copy, data, size);
    /* Far enough for a cursor that runs backwards; what is further is seldom mapped by poison of earlier copies. */
    size_t front = GUARDED_MOST - size < 4096 ? GUARDED_MOST - size : 4096;
    if (touched > size && touched - size > front)
        front = touched - size;
    ASAN_POISON_MEMORY_REGION(copy - front, front);
    before = size;
    return copy;
}
