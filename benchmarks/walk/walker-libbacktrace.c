/* SPDX-License-Identifier: MIT */
/* libbacktrace's simple form, which names nothing; its state is made once, as its header says. */
#include "walker.h"

#include <backtrace.h>
#include <err.h>
#include <stddef.h>

static struct backtrace_state *state;

struct trace {
    void **pcs;
    int count, max;
};

static void on_error(void *data, const char *message, int number)
{
    (void)data;
    errx(1, "libbacktrace: %s (%d)", message, number);
}

static int add(void *data, uintptr_t pc)
{
    struct trace *trace = data;
    if (trace->count == trace->max)
        return 1;
    /* It gives the address of the call, one below the return address. */
    trace->pcs[trace->count++] = (void *)(pc + 1);
    return 0;
}

static void make_state(void)
{
    state = backtrace_create_state(NULL, 0, on_error, NULL);
}

static int by_libbacktrace(const void *ucontext, void **pcs, int max)
{
    struct trace trace = {.pcs = pcs, .max = max};
    (void)ucontext;
    backtrace_simple(state, 0, add, on_error, &trace);
    return trace.count;
}

const struct walker walker_libbacktrace = {.name = "libbacktrace", .walk = by_libbacktrace, .load = make_state};
