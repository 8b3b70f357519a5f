/* SPDX-License-Identifier: MIT */
#include "leaks/block.h"

#include "leaks/error.h"
#include "leaks/trace.h"

#include <spwalk.h>

int32_t leaks_process_id;
uint32_t leaks_epoch, leaks_is_off, leaks_is_partial;
uint64_t leaks_lost, leaks_start_tick;
__thread int32_t leaks_thread_off __attribute__((tls_model("initial-exec")));

static __thread uint64_t since_sample __attribute__((tls_model("initial-exec")));

/* The extents of this library's code, whose frames are no part of a stack. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

enum { OWN_FRAMES = 6 };

__attribute__((noinline)) uint32_t leaks_trace_here(void)
{
    void *pcs[LEAKS_FRAMES_MAX + OWN_FRAMES];
    int most = (int)leaks_options.frames + OWN_FRAMES, count = sp_backtrace(pcs, most), first = 0;
    while (first < count && (uintptr_t)pcs[first] - (uintptr_t)__ehdr_start < (uintptr_t)(etext - __ehdr_start))
        first++;
    unsigned depth = (unsigned)(count - first), is_cut = count == most;
    if (depth > leaks_options.frames) {
        depth = leaks_options.frames;
        is_cut = 1;
    }
    return leaks_trace_intern(pcs + first, depth, is_cut);
}

static bool is_sampled(void)
{
    if (__builtin_expect(leaks_options.sample <= 1, 1))
        return true;
    if (++since_sample < leaks_options.sample)
        return false;
    since_sample = 0;
    return true;
}

static void fill(struct leaks_record *record, struct leaks_thread *thread, uintptr_t address, size_t size,
                 unsigned kind, uint32_t trace)
{
    record->serial = leaks_serial_next(thread);
    record->time = leaks_tick();
    record->size = size;
    record->kind = kind & 15;
    record->epoch = leaks_epoch & 255;
    record->hidden = 0;
    record->trace = trace;
    record->thread = thread->thread;
    __atomic_store_n(&record->address, address, __ATOMIC_RELEASE);
}

static unsigned put_guard(uintptr_t address, size_t size, unsigned kind)
{
    if (!leaks_options.guard)
        return kind;
    uint64_t word = leaks_guard_word(address);
    memcpy((char *)address + size, &word, sizeof word);
    return kind | LEAKS_GUARDED;
}

void leaks_block_add(void *block, size_t size, enum leaks_kind kind)
{
    uintptr_t address = (uintptr_t)block;
    if (block == NULL)
        return;
    uint32_t *slot = leaks_slot_make(address);
    if (__builtin_expect(slot == NULL, 0)) {
        __atomic_fetch_add(&leaks_lost, 1, __ATOMIC_RELAXED);
        return;
    }
    *slot = LEAKS_SLOT_UNTRACKED + kind;
    if (!leaks_wants(size) || !is_sampled()) {
        leaks_is_partial = 1;
        return;
    }
    uint32_t trace = leaks_trace_here();
    struct leaks_thread *thread = leaks_thread_take();
    uint32_t number = thread == NULL ? 0 : leaks_record_take(thread);
    if (__builtin_expect(number == 0, 0)) {
        leaks_is_partial = 1;
        __atomic_fetch_add(&leaks_lost, 1, __ATOMIC_RELAXED);
    } else {
        fill(leaks_record_get(number), thread, address, size, put_guard(address, size, kind), trace);
        *slot = number;
    }
    if (thread != NULL)
        leaks_thread_give_back(thread);
}

/* The newest of what any thread freed at this address, copied to *freed. */
static bool find_freed(uintptr_t address, struct leaks_freed *freed)
{
    bool is_found = false;
    for (const struct leaks_thread *thread = leaks_thread_first(); thread != NULL; thread = thread->next)
        for (size_t i = 0; i < LEAKS_FREED_MAX; i++)
            if (thread->freed[i].address == address && (!is_found || thread->freed[i].serial > freed->serial)) {
                *freed = thread->freed[i];
                is_found = true;
            }
    return is_found;
}

static void report_unknown(uintptr_t address, enum leaks_kind kind, bool is_realloc)
{
    struct leaks_error error = {.type = LEAKS_INVALID_FREE,
                                .address = address,
                                .freed_as = (uint8_t)kind,
                                .is_realloc = is_realloc,
                                .here = leaks_trace_here()};
    struct leaks_freed freed = {0};
    if (find_freed(address, &freed)) {
        error.type = LEAKS_DOUBLE_FREE;
        error.size = freed.size;
        error.serial = freed.serial;
        error.allocated = freed.trace;
        error.freed = freed.free_trace;
    }
    leaks_error_add(&error);
}

void leaks_block_check(const struct leaks_record *record, enum leaks_kind kind, uint32_t here)
{
    uint64_t word;
    if (!(record->kind & LEAKS_GUARDED))
        return;
    memcpy(&word, (const char *)record->address + record->size, sizeof word);
    word ^= leaks_guard_word(record->address);
    if (__builtin_expect(word == 0, 1))
        return;
    struct leaks_error error = {.type = LEAKS_OVERRUN,
                                .address = record->address,
                                .size = record->size,
                                .serial = record->serial,
                                .allocated = record->trace,
                                .allocated_as = (uint8_t)leaks_record_kind(record),
                                .freed_as = (uint8_t)kind,
                                .here = here,
                                .found = word};
    leaks_error_add(&error);
}

static bool is_guard_good(const struct leaks_record *record)
{
    uint64_t word;
    if (!(record->kind & LEAKS_GUARDED))
        return true;
    memcpy(&word, (const char *)record->address + record->size, sizeof word);
    return word == leaks_guard_word(record->address);
}

static void report_mismatch(const struct leaks_record *record, uintptr_t address, enum leaks_kind allocated,
                            enum leaks_kind freed)
{
    struct leaks_error error = {.type = LEAKS_MISMATCH,
                                .address = address,
                                .size = record == NULL ? 0 : record->size,
                                .serial = record == NULL ? 0 : record->serial,
                                .allocated = record == NULL ? 0 : record->trace,
                                .allocated_as = (uint8_t)allocated,
                                .freed_as = (uint8_t)freed,
                                .here = leaks_trace_here()};
    leaks_error_add(&error);
}

bool leaks_block_remove(void *block, enum leaks_kind kind)
{
    uintptr_t address = (uintptr_t)block;
    if (block == NULL)
        return true;
    uint32_t *slot = leaks_slot_find(address);
    uint32_t number = slot == NULL ? LEAKS_SLOT_NONE : __atomic_exchange_n(slot, LEAKS_SLOT_NONE, __ATOMIC_RELAXED);
    if (__builtin_expect(number < LEAKS_SLOT_RECORDS, 0)) {
        if (number == LEAKS_SLOT_NONE) {
            report_unknown(address, kind, false);
            return false;
        }
        if (number - LEAKS_SLOT_UNTRACKED != kind)
            report_mismatch(NULL, address, (enum leaks_kind)(number - LEAKS_SLOT_UNTRACKED), kind);
        return true;
    }
    struct leaks_record *record = leaks_record_get(number);
    if (__builtin_expect(leaks_record_kind(record) != kind, 0))
        report_mismatch(record, address, leaks_record_kind(record), kind);
    if (__builtin_expect(!is_guard_good(record), 0))
        leaks_block_check(record, kind, leaks_trace_here());
    uint32_t free_trace = leaks_options.free_stacks ? leaks_trace_here() : 0;
    struct leaks_thread *thread = leaks_thread_take();
    if (thread != NULL) {
        thread->freed[thread->freed_count++ % LEAKS_FREED_MAX] =
            (struct leaks_freed){address, record->size, record->serial, record->trace, free_trace};
    }
    __atomic_store_n(&record->address, 0, __ATOMIC_RELEASE);
    if (thread != NULL) {
        leaks_record_give_back(thread, number);
        leaks_thread_give_back(thread);
    }
    return true;
}

bool leaks_block_take_out(void *block, struct leaks_moving *moving)
{
    uintptr_t address = (uintptr_t)block;
    uint32_t *slot = leaks_slot_find(address);
    moving->slot = slot == NULL ? LEAKS_SLOT_NONE : __atomic_exchange_n(slot, LEAKS_SLOT_NONE, __ATOMIC_RELAXED);
    moving->size = SIZE_MAX;
    if (moving->slot == LEAKS_SLOT_NONE) {
        report_unknown(address, LEAKS_MALLOC, true);
        return false;
    }
    const struct leaks_record *record = moving->slot < LEAKS_SLOT_RECORDS ? NULL : leaks_record_get(moving->slot);
    enum leaks_kind kind =
        record == NULL ? (enum leaks_kind)(moving->slot - LEAKS_SLOT_UNTRACKED) : leaks_record_kind(record);
    if (kind != LEAKS_MALLOC)
        report_mismatch(record, address, kind, LEAKS_MALLOC);
    if (record != NULL) {
        moving->size = record->size;
        if (!is_guard_good(record))
            leaks_block_check(record, LEAKS_MALLOC, leaks_trace_here());
    }
    return true;
}

void leaks_block_put_back(void *block, const struct leaks_moving *moving)
{
    uint32_t *slot = leaks_slot_find((uintptr_t)block);
    if (slot != NULL)
        *slot = moving->slot;
}

void leaks_block_moved(void *block, size_t size, const struct leaks_moving *moving)
{
    struct leaks_thread *thread;
    if (moving->slot >= LEAKS_SLOT_RECORDS && (thread = leaks_thread_take()) != NULL) {
        __atomic_store_n(&leaks_record_get(moving->slot)->address, 0, __ATOMIC_RELEASE);
        leaks_record_give_back(thread, moving->slot);
        leaks_thread_give_back(thread);
    }
    leaks_block_add(block, size, LEAKS_MALLOC);
}

static const struct leaks_record *find_record(const void *block)
{
    uint32_t *slot = leaks_slot_find((uintptr_t)block);
    return slot == NULL || *slot < LEAKS_SLOT_RECORDS ? NULL : leaks_record_get(*slot);
}

size_t leaks_block_size(const void *block)
{
    const struct leaks_record *record = find_record(block);
    return record == NULL ? SIZE_MAX : record->size;
}

bool leaks_block_mark(const void *block, unsigned mark)
{
    struct leaks_record *record = (struct leaks_record *)find_record(block);
    if (record == NULL)
        return false;
    record->hidden |= mark & 15;
    return true;
}
