/* SPDX-License-Identifier: MIT */
#include "leaks/stop.h"

#include "leaks/thread.h"
#include "module/kernel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <errno.h>

enum { THREADS_MAX = 8192, STOP_SIGNAL = 61, WAIT_STEPS = 400, STEP_NS = 500000 };

static struct leaks_stopped threads[THREADS_MAX];
static size_t thread_count;
static uint32_t is_stopped;
static struct sigaction before;
static uint64_t mask_before; /* of the thread that stops the others */

struct entry {
    uint64_t inode, offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

static int32_t number(const char *text)
{
    int32_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return *text == '\0' ? value : 0;
}

/* Adds those of /proc/self/task that are not in the list yet; returns how many tasks there are. */
static size_t list(int32_t self, bool is_kept)
{
    static _Alignas(8) char buffer[32768];
    long folder = sp_syscall6(SYS_open, (long)"/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0, 0), size;
    size_t count = 0;
    while (folder >= 0 && (size = sp_syscall6(SYS_getdents64, folder, (long)buffer, sizeof buffer, 0, 0, 0)) > 0)
        for (long at = 0; at < size; at += ((struct entry *)(buffer + at))->size) {
            int32_t thread = number(((struct entry *)(buffer + at))->name);
            bool is_known = thread == 0 || thread == self;
            count += thread != 0;
            for (size_t i = 0; i < thread_count && !is_known; i++)
                is_known = threads[i].thread == thread;
            if (!is_known && is_kept && thread_count < THREADS_MAX)
                threads[thread_count++] = (struct leaks_stopped){.thread = thread};
        }
    if (folder >= 0)
        sp_syscall6(SYS_close, folder, 0, 0, 0, 0, 0);
    return count;
}

size_t leaks_count_threads(void)
{
    return list(0, false);
}

static void wait_to_go_on(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    int32_t self = (int32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
    for (size_t i = 0; i < thread_count; i++) {
        if (threads[i].thread != self)
            continue;
        threads[i].sp = (uintptr_t)__builtin_frame_address(0);
        threads[i].is_moving = leaks_own_thread.is_moving;
        __asm__("movq %%fs:0, %0" : "=r"(threads[i].control_block));
        __atomic_store_n(&threads[i].has_answered, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&is_stopped, __ATOMIC_ACQUIRE))
            sp_syscall6(SYS_futex, (long)&is_stopped, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0);
    }
    errno = saved;
}

static bool all_have_answered(size_t from)
{
    for (size_t i = from; i < thread_count; i++)
        if (!__atomic_load_n(&threads[i].has_answered, __ATOMIC_ACQUIRE))
            return false;
    return true;
}

/* A handler of the program might wait for what a stopped thread has: the allocator's lock, say. */
static void block_signals(void)
{
    const uint64_t all = UINT64_MAX;
    sp_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask_before, sizeof all, 0, 0);
}

size_t leaks_stop_others(const struct leaks_stopped **stopped)
{
    int32_t process = (int32_t)sp_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
    int32_t self = (int32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
    const struct timespec step = {0, STEP_NS};
    block_signals();
    thread_count = 0;
    *stopped = threads;
    if (list(self, true) <= 1)
        return thread_count;
    struct sigaction action = {.sa_handler = wait_to_go_on, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(STOP_SIGNAL, &action, &before);
    __atomic_store_n(&is_stopped, 1, __ATOMIC_RELEASE);
    /* A thread that was not stopped yet may have started another meanwhile. */
    for (size_t signalled = 0; signalled < thread_count; list(self, true)) {
        size_t from = signalled;
        for (; signalled < thread_count; signalled++)
            sp_syscall6(SYS_tgkill, process, threads[signalled].thread, STOP_SIGNAL, 0, 0, 0);
        for (int i = 0; i < WAIT_STEPS && !all_have_answered(from); i++)
            sp_syscall6(SYS_nanosleep, (long)&step, 0, 0, 0, 0, 0);
    }
    return thread_count;
}

static void let_go_on(void)
{
    if (!__atomic_load_n(&is_stopped, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&is_stopped, 0, __ATOMIC_RELEASE);
    sp_syscall6(SYS_futex, (long)&is_stopped, FUTEX_WAKE_PRIVATE, THREADS_MAX, 0, 0, 0);
    /* One that has not answered may still get the signal; then it returns from the handler at once. Where there is one,
     * the handler stays. */
    if (all_have_answered(0))
        sigaction(STOP_SIGNAL, &before, NULL);
}

void leaks_go_on(void)
{
    let_go_on();
    sp_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask_before, 0, sizeof mask_before, 0, 0);
}
