/* SPDX-License-Identifier: MIT */
#include "walk/thread.h"

#include "module/kernel.h"

#include <pthread.h>
#include <stddef.h>

enum { PAGE = 4096 };

__thread struct sp_thread sp_thread;

/*
 * Memory of threads that have ended, for threads to come. Taken whole and put back less one, so that no entry can go
 * and come back (ABA) under a thread that is taking one.
 */
static struct sp_memory *free_memory;

static pthread_key_t thread_end;
static uint32_t thread_end_state; /* 0: no key yet, 1: being made, 2: made, 3: cannot be had */

static void put_free(struct sp_memory *first, struct sp_memory *last)
{
    struct sp_memory *head = __atomic_load_n(&free_memory, __ATOMIC_RELAXED);
    do
        last->next_free = head;
    while (!__atomic_compare_exchange_n(&free_memory, &head, first, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static struct sp_memory *get_free(void)
{
    struct sp_memory *all = __atomic_exchange_n(&free_memory, NULL, __ATOMIC_ACQUIRE);
    if (all == NULL)
        return NULL;
    if (all->next_free != NULL) {
        struct sp_memory *last = all->next_free;
        while (last->next_free != NULL)
            last = last->next_free;
        put_free(all->next_free, last);
    }
    return all;
}

static void end_thread(void *data)
{
    struct sp_memory *memory = data;
    sp_thread.has_ended = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    sp_thread.memory = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    put_free(memory, memory);
}

/*
 * The key is made when the library is loaded: a key with a low number keeps its value in the thread control block, so
 * that pthread_setspecific does not allocate and can be called in a handler (glibc: the first 32 keys; musl: all).
 */
__attribute__((constructor)) static void make_key(void)
{
    bool made = pthread_key_create(&thread_end, end_thread) == 0 && thread_end < 32;
    __atomic_store_n(&thread_end_state, made ? 2 : 3, __ATOMIC_RELEASE);
}

/* A thread that ends after the library has been unloaded has no end_thread to call. What it kept stays mapped. */
__attribute__((destructor)) static void delete_key(void)
{
    if (__atomic_exchange_n(&thread_end_state, 3, __ATOMIC_ACQ_REL) == 2)
        pthread_key_delete(thread_end);
}

static struct sp_memory *new_memory(void)
{
    if (sp_thread.has_ended || __atomic_load_n(&thread_end_state, __ATOMIC_ACQUIRE) != 2)
        return NULL;
    struct sp_memory *memory = get_free();
    if (memory == NULL)
        memory = sp_map_pages(sizeof *memory);
    if (memory == NULL)
        return NULL;
    memory->walk_sp = 0;
    memory->row = memory->rows;
    memory->strange = 0;
    sp_memory_empty(memory);
    return memory;
}

struct sp_memory *sp_memory_get(uintptr_t sp)
{
    struct sp_thread *thread = &sp_thread;
    struct sp_memory *memory = thread->memory;
    if (memory == NULL) {
        if (thread->walks < 2 && thread->walks++ == 0)
            return NULL;
        memory = new_memory();
        if (memory == NULL)
            return NULL;
        memory->walk_sp = sp;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        /* A handler that has walked meanwhile has got some, which must not be lost. */
        struct sp_memory *none = NULL;
        if (!__atomic_compare_exchange_n(&thread->memory, &none, memory, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            put_free(memory, memory);
            return NULL;
        }
        pthread_setspecific(thread_end, memory);
        return memory;
    }
    /* A walk that has it already was interrupted by this one, or left by a longjmp out of a handler. */
    if (memory->walk_sp != 0)
        return NULL;
    memory->walk_sp = sp;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return memory;
}

void sp_memory_regain(uintptr_t lowest, uintptr_t sp)
{
    struct sp_memory *memory = sp_thread.memory;
    const struct sp_stacks *stacks = &sp_thread.stacks;
    /* A walk holds it from a little further in than where it starts, which its stack's extents have. */
    const uintptr_t own_lo = stacks->own_lo - PAGE;
    if (memory == NULL || memory->walk_sp < own_lo || memory->walk_sp >= lowest || sp < own_lo || sp >= stacks->own_hi)
        return;
    sp_memory_empty(memory);
    sp_memory_give_back(memory);
}
