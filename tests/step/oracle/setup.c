/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <fcntl.h>
#include <sys/mman.h>

struct step_area *step_area;
struct step_landmarks step_landmarks;

static const char *value_of(char **environment, const char *name)
{
    for (; *environment != NULL; environment++) {
        const char *e = *environment;
        const char *n = name;
        while (*n != 0 && *e == *n) {
            e++;
            n++;
        }
        if (*n == 0 && *e == '=')
            return e + 1;
    }
    return NULL;
}

static bool install_trap_handler(void)
{
    struct step_kernel_action a;
    a.handler = (uintptr_t)step_trap;
    a.flags = 0x04000000 /* SA_RESTORER */ | SA_SIGINFO | (step_area->options.same_stack ? 0 : SA_ONSTACK);
    a.restorer = (uintptr_t)step_restorer;
    a.mask = ~(step_signal_bit(SIGSEGV) | step_signal_bit(SIGBUS));
    return step_syscall(SYS_rt_sigaction, SIGTRAP, (long)&a, 0, 8, 0, 0) == 0;
}

bool step_setup(char **environment)
{
    const char *path = value_of(environment, STEP_ENVIRONMENT);
    if (path == NULL)
        return false;
    long fd = step_syscall(SYS_open, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0, 0);
    if (fd < 0)
        return false;
    long area = step_syscall(SYS_mmap, 0, sizeof *step_area, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    step_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    if (area < 0 && area > -4096)
        return false;
    step_area = (struct step_area *)area;
    if (step_area->magic != STEP_MAGIC)
        return false;
    __atomic_store_n(&step_area->alive, 1, __ATOMIC_RELAXED);
    return install_trap_handler();
}
