/* SPDX-License-Identifier: MIT */
/* The oracle linked into a static program: steps it from _start on. Runs before relocation and without thread-local
 * storage, so it calls nothing of libc's. */
#include "oracle.h"

#include <ucontext.h>

#pragma weak makecontext

/* stack: as the kernel left it, argc first. True when the program is to be stepped. */
__attribute__((visibility("hidden"))) int step_linked_start(uintptr_t *stack)
{
    char **environment = (char **)(stack + 1 + stack[0] + 1);
    if (!step_setup(environment))
        return 0;
    step_landmarks.makecontext = (uintptr_t)makecontext;
    struct step_thread *t = step_thread_first((uintptr_t)stack, 0, 0);
    if (t == NULL)
        return 0;
    step_take_handlers();
    if (!step_area->options.same_stack) {
        stack_t own = t->own_stack;
        step_syscall(SYS_sigaltstack, (long)&own, 0, 0, 0, 0, 0);
    }
    return 1;
}
