/* SPDX-License-Identifier: MIT */
/*
 * System calls made directly, so that errno is left alone and no C library wrapper (a cancellation point, an
 * interposed function) stands between. Each returns the kernel's answer: -4095..-1 is a negated error number.
 */
#ifndef SPWALK_KERNEL_H
#define SPWALK_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static inline long sp_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Fresh zeroed pages that are in memory already, or NULL. size: bytes. */
static inline void *sp_map_pages(size_t size)
{
    long result = sp_syscall6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return result < 0 && result > -4096 ? NULL : (void *)result;
}

static inline void sp_unmap_pages(void *pages, size_t size)
{
    sp_syscall6(SYS_munmap, (long)pages, (long)size, 0, 0, 0, 0);
}

#endif
