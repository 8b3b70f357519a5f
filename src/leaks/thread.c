/* SPDX-License-Identifier: MIT */
#include "leaks/thread.h"

#include "leaks/own.h"
#include "module/kernel.h"

#include <pthread.h>
#include <stdbool.h>

enum { SERIALS = 256 };

__thread struct leaks_own_thread leaks_own_thread;

static uint64_t serials = 1;
static struct leaks_thread *all_threads;
static pthread_key_t end_key;
static bool has_key;

static void end_thread(void *data)
{
    leaks_own_thread.has_ended = 1;
    leaks_own_thread.thread = NULL;
    __atomic_store_n(&((struct leaks_thread *)data)->in_use, 0, __ATOMIC_RELEASE);
}

void leaks_thread_start(void)
{
    /* A key with a low number keeps its value in the thread itself, so that setting it never allocates. */
    has_key = pthread_key_create(&end_key, end_thread) == 0 && end_key < 32;
}

static struct leaks_thread *find_unused(void)
{
    for (struct leaks_thread *thread = leaks_thread_first(); thread != NULL; thread = thread->next) {
        uint32_t expected = 0;
        if (__atomic_load_n(&thread->in_use, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&thread->in_use, &expected, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return thread;
    }
    struct leaks_thread *thread = leaks_own_map(sizeof *thread);
    if (thread == NULL)
        return NULL;
    thread->in_use = 1;
    thread->next = leaks_thread_first();
    while (!__atomic_compare_exchange_n(&all_threads, &thread->next, thread, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        continue;
    return thread;
}

static uintptr_t control_blocks[65536];
static uint32_t control_block_count;

/* Threads that come after each other mostly get the same stack, so there are few. */
static void note_control_block(void)
{
    uintptr_t control_block;
    __asm__("movq %%fs:0, %0" : "=r"(control_block));
    uint32_t count = __atomic_load_n(&control_block_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (leaks_control_block(i) == control_block)
            return;
    uint32_t index = __atomic_fetch_add(&control_block_count, 1, __ATOMIC_ACQ_REL);
    if (index < sizeof control_blocks / sizeof *control_blocks)
        __atomic_store_n(&control_blocks[index], control_block, __ATOMIC_RELEASE);
    else
        __atomic_fetch_sub(&control_block_count, 1, __ATOMIC_ACQ_REL);
}

uintptr_t leaks_control_block(size_t index)
{
    uint32_t count = __atomic_load_n(&control_block_count, __ATOMIC_ACQUIRE);
    return index < count ? __atomic_load_n(&control_blocks[index], __ATOMIC_ACQUIRE) : 0;
}

struct leaks_thread *leaks_thread_make(void)
{
    struct leaks_thread *thread = find_unused();
    leaks_own_thread.thread = thread;
    if (thread == NULL) {
        leaks_own_thread.is_busy = 0;
        return NULL;
    }
    thread->number = (uint32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
    note_control_block();
    if (has_key && !leaks_own_thread.has_ended)
        pthread_setspecific(end_key, thread);
    return thread;
}

/* A thread at whose end the destructor has run already: its state cannot wait for another end. */
void leaks_thread_leave(struct leaks_thread *thread)
{
    leaks_own_thread.thread = NULL;
    __atomic_store_n(&thread->in_use, 0, __ATOMIC_RELEASE);
}

void leaks_serials_take(struct leaks_thread *thread)
{
    thread->serial = __atomic_fetch_add(&serials, SERIALS, __ATOMIC_RELAXED);
    thread->serial_end = thread->serial + SERIALS;
}

struct leaks_thread *leaks_thread_first(void)
{
    return __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE);
}

void leaks_thread_forked(void)
{
    if (leaks_own_thread.thread != NULL)
        leaks_own_thread.thread->number = (uint32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}
