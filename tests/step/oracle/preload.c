/* SPDX-License-Identifier: MIT */
/* The oracle as a preloaded library: steps a program from __libc_start_main on. */
#include "oracle.h"
#include "peers.h"

#include <dlfcn.h>
#include <unistd.h>

static bool ready;

__attribute__((constructor)) static void prepare(void)
{
    step_landmarks.makecontext = (uintptr_t)dlsym(RTLD_NEXT, "makecontext");
    ready = step_setup(environ);
    if (ready)
        step_walkers_setup();
}

/* Called at the entry of __libc_start_main with the address of its return address. Returns libc's own; bit 63 says that
 * nothing is to be stepped. */
__attribute__((visibility("hidden"))) uintptr_t step_preload_start(uintptr_t at)
{
    uintptr_t real = (uintptr_t)dlsym(RTLD_NEXT, "__libc_start_main");
    struct step_thread *t = ready ? step_thread_first(at, at, *(const uintptr_t *)at) : NULL;
    if (t == NULL)
        return real | UINT64_C(1) << 63;
    step_take_handlers();
    if (!step_area->options.same_stack) {
        stack_t stack = t->own_stack;
        step_syscall(SYS_sigaltstack, (long)&stack, 0, 0, 0, 0, 0);
    }
    return real;
}
