/* SPDX-License-Identifier: MIT */
/* What each thread keeps to record blocks. */
#ifndef SPWALK_LEAKS_THREAD_H
#define SPWALK_LEAKS_THREAD_H

#include <stddef.h>
#include <stdint.h>

enum { LEAKS_FREED_MAX = 256 }; /* what each thread remembers of the blocks it freed last; a power of two */

struct leaks_freed {
    uintptr_t address;
    uint64_t size;
    uint64_t serial;
    uint32_t trace;      /* where it was allocated */
    uint32_t free_trace; /* where it was freed; 0: not kept */
};

struct leaks_thread {
    struct leaks_thread *next; /* in the list of all; never taken out */
    uint32_t in_use;
    uint32_t number;             /* the kernel's */
    uint64_t serial, serial_end; /* the next serials */
    uint64_t freed_count;
    struct leaks_freed freed[LEAKS_FREED_MAX]; /* number n at n % LEAKS_FREED_MAX */
};

struct leaks_own_thread {
    struct leaks_thread *thread;
    uint32_t is_busy;
    uint32_t is_moving; /* blocks that it is reallocating just now: they are not to be found meanwhile */
    uint32_t has_ended; /* its destructors have run: it keeps no state any more */
};
extern __thread struct leaks_own_thread leaks_own_thread __attribute__((tls_model("initial-exec")));

struct leaks_thread *leaks_thread_make(void);
void leaks_thread_leave(struct leaks_thread *thread);
void leaks_serials_take(struct leaks_thread *thread);

/*
 * The calling thread's own, to be given back after each use. NULL where it is in use already (a handler that allocates
 * while the thread does), or memory is short.
 */
static inline struct leaks_thread *leaks_thread_take(void)
{
    if (__builtin_expect(leaks_own_thread.is_busy != 0, 0))
        return NULL;
    leaks_own_thread.is_busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct leaks_thread *thread = leaks_own_thread.thread;
    return __builtin_expect(thread != NULL, 1) ? thread : leaks_thread_make();
}

static inline void leaks_thread_give_back(struct leaks_thread *thread)
{
    if (__builtin_expect(leaks_own_thread.has_ended != 0, 0))
        leaks_thread_leave(thread);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    leaks_own_thread.is_busy = 0;
}

/* Serials are unique; those of one thread go up. A thread takes 256 at a time, so that a program's first thread alone
 * counts without gaps. */
static inline uint64_t leaks_serial_next(struct leaks_thread *thread)
{
    if (__builtin_expect(thread->serial == thread->serial_end, 0))
        leaks_serials_take(thread);
    return thread->serial++;
}

/* The list of all threads' states, for a report. */
struct leaks_thread *leaks_thread_first(void);

/* The control block (%fs:0) of a thread that ever recorded, which lies in its stack's mapping; 0 past the last. */
uintptr_t leaks_control_block(size_t index);

/* In the child of a fork: the other threads are gone. */
void leaks_thread_forked(void);

/* Makes the key whose destructor takes a thread's state back; called once at the start. */
void leaks_thread_start(void);

#endif
