/* SPDX-License-Identifier: MIT */
/*
 * glibc runs what was registered by __cxa_atexit in reverse order, and the start code of a program registers the
 * dynamic linker's function, which runs all destructors, before the program's own code. A constructor of a library is
 * earlier still, so what this one registers runs after the last destructor.
 */
#include "leaks/ends.h"

#include "leaks/options.h"
#include "leaks/report.h"
#include "leaks/state.h"
#include "leaks/stop.h"
#include "module/kernel.h"
#include "module/module.h"

#include <spwalk.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern int __cxa_atexit(void (*function)(void *), void *argument, void *module);
extern int __cxa_at_quick_exit(void (*function)(void *), void *module);
extern void __libc_freeres(void);

static bool has_reported;

/* A child of vfork shares our memory and is not to touch it. */
static bool is_own_process(void)
{
    return (int32_t)sp_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0) == leaks_process_id;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/*
 * From where on the stack counts at an end: the frame that called exit, or that main returned to. What the C library's
 * frames below it hold is left over from frames that are gone.
 */
static uintptr_t find_caller(uintptr_t sp)
{
    struct sp_frame frames[16];
    struct sp_module own, libc;
    enum sp_end end;
    int count = sp_walk(NULL, frames, 16, &end);
    if (!sp_module_find((uintptr_t)__ehdr_start, &own) || !sp_module_find((uintptr_t)exit, &libc))
        return sp;
    for (int i = 0; i < count; i++)
        if (frames[i].pc - own.lo >= own.hi - own.lo && frames[i].pc - libc.lo >= libc.hi - libc.lo)
            return frames[i].sp;
    return sp;
}

__attribute__((noinline)) static void at_end(bool is_clean)
{
    __builtin_unwind_init();
    if (has_reported || !is_own_process())
        return;
    /* What the C library keeps for itself is no leak, and it frees it when asked; other threads might still use it. It
     * writes what is left in streams first, which may be by a function of the program that calls _exit. */
    if (is_clean && leaks_options.release && leaks_count_threads() == 1)
        __libc_freeres();
    has_reported = true;
    leaks_report_make(LEAKS_REASON_EXIT, find_caller(leaks_sp()));
}

static void after_destructors(void *unused)
{
    (void)unused;
    at_end(true);
}

void leaks_ends_start(void)
{
    /* No module, so that it does not run when this library's own destructors do. */
    __cxa_atexit(after_destructors, NULL, NULL);
    __cxa_at_quick_exit((void (*)(void *))after_destructors, NULL);
}

EXPORT __attribute__((noreturn)) void _exit(int status)
{
    at_end(false);
    for (;;)
        sp_syscall6(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
    _exit(status);
}

/* exec: the report is withdrawn where it fails and the program goes on. */
#define BEFORE_EXEC()                                                                                                  \
    bool is_own = is_own_process();                                                                                    \
    if (is_own) {                                                                                                      \
        __builtin_unwind_init();                                                                                       \
        leaks_report_make(LEAKS_REASON_EXEC, leaks_sp());                                                              \
    }
#define AFTER_EXEC()                                                                                                   \
    if (is_own) {                                                                                                      \
        int saved = errno;                                                                                             \
        leaks_report_withdraw();                                                                                       \
        errno = saved;                                                                                                 \
    }

#define EXEC(name, parameters, arguments)                                                                              \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        int(*next) parameters = (int(*) parameters)dlsym(RTLD_NEXT, #name);                                            \
        if (next == NULL) {                                                                                            \
            errno = ENOSYS;                                                                                            \
            return -1;                                                                                                 \
        }                                                                                                              \
        BEFORE_EXEC();                                                                                                 \
        int result = next arguments;                                                                                   \
        AFTER_EXEC();                                                                                                  \
        return result;                                                                                                 \
    }

EXEC(execve, (const char *path, char *const *argv, char *const *envp), (path, argv, envp))
EXEC(execv, (const char *path, char *const *argv), (path, argv))
EXEC(execvp, (const char *file, char *const *argv), (file, argv))
EXEC(execvpe, (const char *file, char *const *argv, char *const *envp), (file, argv, envp))
EXEC(fexecve, (int file, char *const *argv, char *const *envp), (file, argv, envp))
EXEC(execveat, (int folder, const char *path, char *const *argv, char *const *envp, int flags),
     (folder, path, argv, envp, flags))

/* The arguments of execl and its kin as an array on the stack, as glibc makes one too. */
#define LISTED(name, first, call)                                                                                      \
    EXPORT int name(const char *path, const char *first, ...)                                                          \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        size_t count = 1;                                                                                              \
        va_start(list, first);                                                                                         \
        while (va_arg(list, char *) != NULL)                                                                           \
            count++;                                                                                                   \
        va_end(list);                                                                                                  \
        char *argv[count + 1];                                                                                         \
        va_start(list, first);                                                                                         \
        argv[0] = (char *)first;                                                                                       \
        for (size_t i = 1; i <= count; i++)                                                                            \
            argv[i] = va_arg(list, char *);                                                                            \
        char *const *envp __attribute__((unused)) = environ;                                                           \
        call;                                                                                                          \
    }

LISTED(execl, argument, va_end(list); return execve(path, argv, envp))
LISTED(execlp, argument, va_end(list); return execvp(path, argv))
LISTED(execle, argument, envp = va_arg(list, char *const *); va_end(list); return execve(path, argv, envp))
