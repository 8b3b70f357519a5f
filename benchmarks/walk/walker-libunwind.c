/* SPDX-License-Identifier: MIT */
/*
 * As libunwind's documentation says is fastest: the local-only functions, and a cache for each thread
 * (unw_backtrace(3)'s own trace cache is always per thread).
 */
#define UNW_LOCAL_ONLY
#include "walker.h"

#include <libunwind.h>
#include <stddef.h>

enum { CACHE_SIZE = 16384 };

static int trace(const void *ucontext, void **pcs, int max)
{
    (void)ucontext;
    return unw_backtrace(pcs, max);
}

static int step(const void *ucontext, void **pcs, int max)
{
    unw_context_t context;
    unw_cursor_t cursor;
    int count = 0;
    if (ucontext) {
        if (unw_init_local2(&cursor, (unw_context_t *)ucontext, UNW_INIT_SIGNAL_FRAME) != 0)
            return 0;
    } else {
        if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
            return 0;
    }
    do {
        unw_word_t pc;
        if (count == max || unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0)
            break;
        pcs[count++] = (void *)pc;
    } while (unw_step(&cursor) > 0);
    return count;
}

static void tune(void)
{
    unw_set_cache_size(unw_local_addr_space, CACHE_SIZE, 0);
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
}

const struct walker walker_unw_backtrace = {.name = "unw_backtrace", .walk = trace, .tune = tune};
const struct walker walker_unw_step = {.name = "unw_step", .walk = step, .tune = tune};
