/* SPDX-License-Identifier: MIT */
#define UNW_LOCAL_ONLY
#include "peers.h"

#include "oracle.h"

#include <dlfcn.h>
#include <libunwind.h>

#define HANDLER_FRAMES 16

static int (*init_local2)(unw_cursor_t *, unw_context_t *, int);
static int (*unwind_step)(unw_cursor_t *);
static int (*get_reg)(unw_cursor_t *, unw_regnum_t, unw_word_t *);
static int (*glibc_backtrace)(void **, int);

/* libunwind is loaded apart: it exports a weak backtrace and the C++ unwinder's functions, which must not become the
 * program's. */
void step_peers_setup(void)
{
    void *libunwind = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (libunwind != NULL) {
        *(void **)&init_local2 = dlsym(libunwind, "_ULx86_64_init_local2");
        *(void **)&unwind_step = dlsym(libunwind, "_ULx86_64_step");
        *(void **)&get_reg = dlsym(libunwind, "_ULx86_64_get_reg");
    }
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (libc != NULL)
        *(void **)&glibc_backtrace = dlsym(libc, "backtrace");
    if (glibc_backtrace != NULL) {
        void *pcs[4];
        glibc_backtrace(pcs, 4); /* it loads libgcc_s at its first call */
    }
}

void *step_peers_symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

bool step_peers_libunwind(const ucontext_t *context, uint32_t limit, struct step_walk *walk)
{
    if (get_reg == NULL)
        return false;
    unw_cursor_t cursor;
    walk->end = SP_END_FULL;
    if (init_local2(&cursor, (unw_context_t *)(uintptr_t)context, UNW_INIT_SIGNAL_FRAME) < 0)
        return true;
    int more = 1;
    while (walk->n < limit) {
        unw_word_t pc = 0;
        unw_word_t sp = 0;
        get_reg(&cursor, UNW_REG_IP, &pc);
        get_reg(&cursor, UNW_REG_SP, &sp);
        if (pc == 0)
            more = 0;
        if (more <= 0)
            break;
        walk->frames[walk->n++] = (struct sp_frame){.pc = pc, .sp = sp};
        more = unwind_step(&cursor);
    }
    if (walk->n < limit)
        walk->end = more == 0 ? SP_END_OUTERMOST : SP_END_NO_RULE;
    return true;
}

bool step_peers_glibc(uint32_t limit, struct step_walk *walk)
{
    if (glibc_backtrace == NULL)
        return false;
    walk->has_sp = false;
    walk->has_end = false;
    void *all[STEP_DEPTH_MAX + HANDLER_FRAMES];
    int n = glibc_backtrace(all, STEP_DEPTH_MAX + HANDLER_FRAMES);
    int i = 0;
    while (i < n && all[i] != (void *)step_restorer)
        i++;
    for (i++; i < n && walk->n < limit; i++)
        walk->frames[walk->n++].pc = (uintptr_t)all[i];
    return true;
}
