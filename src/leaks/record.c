/* SPDX-License-Identifier: MIT */
#include "leaks/record.h"

#include "leaks/own.h"
#include "module/kernel.h"

#include <pthread.h>
#include <sched.h>

enum { SERIALS = 256, BATCH = 512, CHUNK = 1 << LEAKS_CHUNK_SHIFT };

struct leaks_record *leaks_chunks[LEAKS_CHUNKS];
static uint32_t chunk_count;
static uint64_t serials = 1;

static struct leaks_thread *all_threads;
static __thread struct leaks_thread *own __attribute__((tls_model("initial-exec")));
static __thread uint32_t busy __attribute__((tls_model("initial-exec")));
static __thread uint32_t has_ended __attribute__((tls_model("initial-exec")));
static pthread_key_t end_key;
static bool has_key;

/*
 * Batches of free records that threads hand to each other: a thread that frees what others allocate would gather all
 * records else. A batch is a list of BATCH records; the lock is taken once a batch.
 */
static uint32_t batches[1 << 16];
static uint32_t batch_count, batch_lock;

static bool try_lock(void)
{
    for (int i = 0; __atomic_exchange_n(&batch_lock, 1, __ATOMIC_ACQUIRE) != 0; i++)
        if (i > 10000)
            sched_yield();
    return true;
}

static void unlock(void)
{
    __atomic_store_n(&batch_lock, 0, __ATOMIC_RELEASE);
}

static void put_batch(uint32_t first)
{
    try_lock();
    if (batch_count < sizeof batches / sizeof *batches)
        batches[batch_count++] = first;
    unlock();
}

static uint32_t get_batch(void)
{
    if (__atomic_load_n(&batch_count, __ATOMIC_RELAXED) == 0)
        return 0;
    try_lock();
    uint32_t first = batch_count == 0 ? 0 : batches[--batch_count];
    unlock();
    return first;
}

static void end_thread(void *data)
{
    has_ended = 1;
    own = NULL;
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

struct leaks_thread *leaks_thread_take(void)
{
    if (__builtin_expect(busy != 0, 0))
        return NULL;
    busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(own != NULL, 1))
        return own;
    own = find_unused();
    if (own == NULL) {
        busy = 0;
        return NULL;
    }
    own->thread = (uint32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
    note_control_block();
    if (has_key && !has_ended)
        pthread_setspecific(end_key, own);
    return own;
}

void leaks_thread_give_back(struct leaks_thread *thread)
{
    /* A thread at whose end the destructor has run already: its state cannot wait for another end. */
    if (__builtin_expect(has_ended != 0, 0)) {
        own = NULL;
        __atomic_store_n(&thread->in_use, 0, __ATOMIC_RELEASE);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    busy = 0;
}

static bool take_chunk(struct leaks_thread *thread)
{
    uint32_t index = __atomic_fetch_add(&chunk_count, 1, __ATOMIC_RELAXED);
    if (index >= LEAKS_CHUNKS) {
        __atomic_fetch_sub(&chunk_count, 1, __ATOMIC_RELAXED);
        return false;
    }
    struct leaks_record *chunk = leaks_own_map(sizeof *chunk * CHUNK);
    __atomic_store_n(&leaks_chunks[index], chunk, __ATOMIC_RELEASE);
    if (chunk == NULL)
        return false;
    thread->fresh = LEAKS_SLOT_RECORDS + index * CHUNK;
    thread->fresh_end = thread->fresh + CHUNK;
    return true;
}

uint32_t leaks_record_take(struct leaks_thread *thread)
{
    uint32_t number = thread->free_first;
    if (number == 0 && thread->fresh == thread->fresh_end && (number = get_batch()) != 0)
        thread->free_count = BATCH;
    if (number != 0) {
        thread->free_first = leaks_record_get(number)->trace;
        thread->free_count--;
        return number;
    }
    if (thread->fresh == thread->fresh_end && !take_chunk(thread))
        return 0;
    return thread->fresh++;
}

void leaks_record_give_back(struct leaks_thread *thread, uint32_t number)
{
    leaks_record_get(number)->trace = thread->free_first;
    thread->free_first = number;
    if (__builtin_expect(++thread->free_count < 2 * BATCH, 1))
        return;
    uint32_t last = number;
    for (int i = 1; i < BATCH; i++)
        last = leaks_record_get(last)->trace;
    thread->free_first = leaks_record_get(last)->trace;
    thread->free_count -= BATCH;
    leaks_record_get(last)->trace = 0;
    put_batch(number);
}

uint64_t leaks_serial_next(struct leaks_thread *thread)
{
    if (__builtin_expect(thread->serial == thread->serial_end, 0)) {
        thread->serial = __atomic_fetch_add(&serials, SERIALS, __ATOMIC_RELAXED);
        thread->serial_end = thread->serial + SERIALS;
    }
    return thread->serial++;
}

uint32_t leaks_record_end(void)
{
    uint32_t count = __atomic_load_n(&chunk_count, __ATOMIC_ACQUIRE);
    return LEAKS_SLOT_RECORDS + (count < LEAKS_CHUNKS ? count : LEAKS_CHUNKS) * CHUNK;
}

struct leaks_thread *leaks_thread_first(void)
{
    return __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE);
}

void leaks_thread_forked(void)
{
    batch_lock = 0;
    if (own != NULL)
        own->thread = (uint32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}
