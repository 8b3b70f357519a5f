/* SPDX-License-Identifier: MIT */
#ifndef TESTS_WITHOUT_MEMORY_H
#define TESTS_WITHOUT_MEMORY_H

#include "walk/thread.h"

#include "../cases/walks.h"

/* Part of its caller, so that both walks are from the same frame. */
static inline __attribute__((always_inline)) void walk_without_memory(const void *context, struct walk *walk, int max)
{
    struct sp_memory *memory = sp_thread.memory;
    const uint8_t has_ended = sp_thread.has_ended;
    sp_thread.has_ended = 1;
    sp_thread.memory = NULL;
    walk->n = sp_walk(context, walk->frames, max, &walk->end);
    sp_thread.memory = memory;
    sp_thread.has_ended = has_ended;
}

#endif
