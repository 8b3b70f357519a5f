/* SPDX-License-Identifier: MIT */
/*
 * glibc's backtrace(3) and libgcc's _Unwind_Backtrace, each taken from its own library: libunwind exports functions of
 * both names. backtrace(3) advises a call ahead of time, since the first one loads libgcc; that is the first walk's
 * cost here, and no part of the others.
 */
#define _GNU_SOURCE
#include "walker.h"

#include <dlfcn.h>
#include <err.h>
#include <stddef.h>
#include <unwind.h>

static int (*glibc_backtrace)(void **, int);
static _Unwind_Reason_Code (*libgcc_backtrace)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*libgcc_pc)(struct _Unwind_Context *);

struct trace {
    void **pcs;
    int count, max;
};

static void *function_of(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW);
    void *function = handle ? dlsym(handle, name) : NULL;
    if (!function)
        errx(1, "%s of %s: %s", name, library, dlerror());
    return function;
}

static void load_glibc(void)
{
    *(void **)&glibc_backtrace = function_of("libc.so.6", "backtrace");
}

static void load_libgcc(void)
{
    *(void **)&libgcc_backtrace = function_of("libgcc_s.so.1", "_Unwind_Backtrace");
    *(void **)&libgcc_pc = function_of("libgcc_s.so.1", "_Unwind_GetIP");
}

static int by_glibc(const void *ucontext, void **pcs, int max)
{
    (void)ucontext;
    return glibc_backtrace(pcs, max);
}

static _Unwind_Reason_Code add(struct _Unwind_Context *context, void *argument)
{
    struct trace *trace = argument;
    if (trace->count == trace->max)
        return _URC_END_OF_STACK;
    trace->pcs[trace->count++] = (void *)libgcc_pc(context);
    return _URC_NO_REASON;
}

static int by_libgcc(const void *ucontext, void **pcs, int max)
{
    struct trace trace = {.pcs = pcs, .max = max};
    (void)ucontext;
    libgcc_backtrace(add, &trace);
    return trace.count;
}

const struct walker walker_glibc = {.name = "glibc backtrace", .walk = by_glibc, .load = load_glibc};
const struct walker walker_libgcc = {.name = "_Unwind_Backtrace", .walk = by_libgcc, .load = load_libgcc};
