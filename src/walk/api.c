/* SPDX-License-Identifier: MIT */
#include <spwalk.h>

#include <stddef.h>

#define SP_API __attribute__((visibility("default")))

SP_API int sp_backtrace(void **pcs, int max)
{
    (void)pcs;
    (void)max;
    return 0;
}

SP_API int sp_backtrace_context(const void *ucontext, void **pcs, int max)
{
    (void)ucontext;
    (void)pcs;
    (void)max;
    return 0;
}

SP_API int sp_walk(const void *ucontext, struct sp_frame *frames, int max, enum sp_end *end)
{
    (void)ucontext;
    (void)frames;
    (void)max;
    (void)end;
    return 0;
}

SP_API const char *sp_end_name(enum sp_end end)
{
    static const char *const names[] = {"outermost", "full", "no rule", "unreadable", "no progress"};
    return (unsigned)end < sizeof names / sizeof names[0] ? names[end] : "unknown";
}
