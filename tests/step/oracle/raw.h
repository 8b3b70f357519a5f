/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc: the trap's handler interrupts libc anywhere, also before it is set up, so it uses nothing
 * of it. Each returns what the kernel does, a negative errno value on failure.
 */
#ifndef STEP_RAW_H
#define STEP_RAW_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long step_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long step_gettid(void)
{
    return step_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline long step_getpid(void)
{
    return step_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Anonymous private memory, zeroed and not yet backed. NULL when there is none. */
static inline void *step_map(size_t size)
{
    long p =
        step_syscall(SYS_mmap, 0, (long)size, 3 /* read, write */, 0x4022 /* private, anonymous, noreserve */, -1, 0);
    return p < 0 && p > -4096 ? NULL : (void *)p;
}

/* The kernel's own struct sigaction, which is not libc's. */
struct step_kernel_action {
    uintptr_t handler;
    uint64_t flags;
    uintptr_t restorer;
    uint64_t mask;
};

static inline uint64_t step_signal_bit(int number)
{
    return UINT64_C(1) << (number - 1);
}

static inline void step_copy(void *to, const void *from, size_t size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static inline void step_zero(void *to, size_t size)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(0) : "memory");
}

#endif
