/* SPDX-License-Identifier: MIT */
/*
 * How far a stack can be read.
 *
 *     the first thread's    from SP to the kernel's argument vector, above every frame; nothing else is mapped between;
 *                           the kernel is asked whether it is at SP, and that is remembered
 *     another thread's      from SP to its thread control block (%fs:0), which lies in the stack's mapping; asked of
 *                           the kernel, once a page, the first time, and remembered
 *     its alternate one     as sigaltstack(2) says; remembered
 *     any other             (a coroutine's) asked of the kernel, a page at a time, as far as the walk gets, each time
 *
 * Where one of the first two has overflowed, SP is below what can be read: the stack begins above it.
 */
#ifndef SPWALK_BOUNDS_H
#define SPWALK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct sp_bounds {
    uintptr_t lo;    /* the lowest address at which an 8-byte word can be read */
    uintptr_t last;  /* the highest such address; below lo: none can */
    bool can_extend; /* more may be found readable by sp_bounds_extend */
};

/* The extents of the calling thread's stacks, as far as they are known; zeroed for a thread that has not walked. */
struct sp_stacks {
    uintptr_t own_lo, own_hi; /* its own: every byte of [own_lo, own_hi) can be read while the thread lives */
    uintptr_t alt_lo, alt_hi; /* its alternate signal stack */
};

/* The same for a stack not seen before; makes system calls, and remembers what it can. */
struct sp_bounds sp_bounds_find(uintptr_t sp, struct sp_stacks *stacks);

/* The bounds of the stack that sp lies in. Async-signal-safe. */
static inline struct sp_bounds sp_bounds_of(uintptr_t sp, struct sp_stacks *stacks)
{
    /* hi first: a handler that walks in between may find out both, and lo is what makes the pair count. */
    uintptr_t hi = __atomic_load_n(&stacks->own_hi, __ATOMIC_ACQUIRE), lo = stacks->own_lo;
    if (sp >= lo && sp < hi)
        return (struct sp_bounds){lo, hi - 8, false};
    return sp_bounds_find(sp, stacks);
}

/*
 * Forgets an alternate stack, that sp lies in, if it is none any more, and another stack may be in its place. Returns
 * whether it was. Asks the kernel: for where a walk has come to no end.
 */
bool sp_bounds_forget(uintptr_t sp, struct sp_stacks *stacks);

/* Makes sure that the word at address, above bounds->last, can be read. Returns whether it can. */
bool sp_bounds_extend(struct sp_bounds *bounds, uintptr_t address);

static inline bool sp_bounds_hold(struct sp_bounds *bounds, uintptr_t address)
{
    if (address >= bounds->lo && address <= bounds->last)
        return true;
    return bounds->can_extend && sp_bounds_extend(bounds, address);
}

/* Reads size bytes (1, 2, 4 or 8) of the stack, zero-extended. Returns false where they are not all in its bounds. */
bool sp_bounds_read(struct sp_bounds *bounds, uintptr_t address, uint64_t *word, unsigned size);

/* Whether the 8 bytes at address can be read, asked of the kernel; nothing is left behind. */
bool sp_is_readable(uintptr_t address);

#endif
