/* SPDX-License-Identifier: MIT */
/* The oracle as a preloaded library: steps a program from __libc_start_main on. */
#include "oracle.h"
#include "peers.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

static bool ready;

static void find_eh_return(void)
{
    static const char *const names[] = {"_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_ForcedUnwind",
                                        "_Unwind_Resume_or_Rethrow"};
    void *libgcc = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_NOLOAD);
    for (unsigned i = 0; libgcc != NULL && i < sizeof names / sizeof names[0]; i++) {
        void *function = dlsym(libgcc, names[i]);
        Dl_info info;
        Elf64_Sym *symbol = NULL;
        if (function != NULL && dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL)
            step_landmarks.eh_return[i] =
                (struct step_region){(uintptr_t)function, (uintptr_t)function + symbol->st_size};
    }
}

__attribute__((constructor)) static void prepare(void)
{
    step_landmarks.makecontext = (uintptr_t)dlsym(RTLD_NEXT, "makecontext");
    ready = step_setup(environ);
    if (ready)
        step_walkers_setup();
    find_eh_return();
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
