/* SPDX-License-Identifier: MIT */
#include "walk/start.h"

#include <stddef.h>

#define SP_API __attribute__((visibility("default")))
#define SP_HIDDEN __attribute__((visibility("hidden")))

/* Called by the stub of entry.S. */
SP_HIDDEN int sp_walk_from(const void *ucontext, struct sp_frame *frames, int max, enum sp_end *end,
                           const struct sp_own_registers *own);

int sp_walk_from(const void *ucontext, struct sp_frame *frames, int max, enum sp_end *end,
                 const struct sp_own_registers *own)
{
    if (frames == NULL || max <= 0)
        return 0;
    struct sp_start start = ucontext != NULL ? sp_start_context(ucontext) : sp_start_own(own);
    struct sp_sink sink = {NULL, frames, max};
    enum sp_end reason;
    int count = sp_walk_fast(&start, &sink, &reason);
    if (end != NULL)
        *end = reason;
    return count;
}

SP_API const char *sp_end_name(enum sp_end end)
{
    static const char *const names[] = {"outermost", "full", "no rule", "unreadable", "no progress"};
    return (unsigned)end < sizeof names / sizeof names[0] ? names[end] : "unknown";
}
