/* SPDX-License-Identifier: MIT */
#include "leaks/block.h"

#include "leaks/error.h"
#include "leaks/stack.h"
#include "leaks/thread.h"
#include "leaks/trace.h"

#include <spwalk.h>

int32_t leaks_process_id;
uint32_t leaks_epoch, leaks_is_off, leaks_is_partial;
uint64_t leaks_lost, leaks_start_tick;
__thread int32_t leaks_thread_off __attribute__((tls_model("initial-exec")));

/* The extents of this library's code, whose frames are no part of a stack. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

enum { OWN_FRAMES = 6 };

/* There were blocks for whose slot there was no memory: what has none may be one of them. */
static uint32_t has_unslotted;

uint32_t leaks_trace_of(const struct sp_own_registers *caller)
{
    void *pcs[LEAKS_FRAMES_MAX];
    bool is_cut;
    unsigned depth = leaks_stack_walk(caller, pcs, leaks_options.frames, &is_cut);
    return leaks_trace_intern(pcs, depth, is_cut);
}

__attribute__((noinline)) uint32_t leaks_trace_here(void)
{
    void *pcs[LEAKS_FRAMES_MAX + OWN_FRAMES];
    int most = (int)leaks_options.frames + OWN_FRAMES, count = sp_backtrace(pcs, most), first = 0;
    while (first < count &&
           (uintptr_t)pcs[first] - (uintptr_t)__ehdr_start < (uintptr_t)etext - (uintptr_t)__ehdr_start)
        first++;
    unsigned depth = (unsigned)(count - first), is_cut = count == most;
    if (depth > leaks_options.frames) {
        depth = leaks_options.frames;
        is_cut = 1;
    }
    return leaks_trace_intern(pcs + first, depth, is_cut);
}

static void put_record(uint16_t slot, uintptr_t address, size_t size, enum leaks_kind kind, uint32_t trace,
                       struct leaks_thread *thread)
{
    struct leaks_record *record = leaks_record_at(address, slot);
    uint64_t slack = (uintptr_t)record - address - size;
    if (__builtin_expect(slack >= LEAKS_SLACK_FAR, 0)) {
        ((uint64_t *)record)[-1] = slack;
        slack = LEAKS_SLACK_FAR;
    }
    *record = (struct leaks_record){.time = leaks_ticks_passed() >> LEAKS_TIME_SHIFT,
                                    .thread = thread->number,
                                    .serial = leaks_serial_next(thread),
                                    .trace = trace,
                                    .slack = slack,
                                    .kind = kind,
                                    .epoch = leaks_epoch};
    if (leaks_options.guard) {
        uint64_t word = leaks_guard_word(address);
        memcpy((char *)address + size, &word, sizeof word);
    }
}

void leaks_block_add(void *block, size_t size, enum leaks_kind kind, bool is_wanted,
                     const struct sp_own_registers *caller)
{
    uintptr_t address = (uintptr_t)block;
    if (__builtin_expect(block == NULL, 0))
        return;
    uint16_t *slot = leaks_slot_make(address);
    if (__builtin_expect(slot == NULL, 0)) {
        leaks_is_partial = has_unslotted = 1;
        __atomic_fetch_add(&leaks_lost, 1, __ATOMIC_RELAXED);
        return;
    }
    if (__builtin_expect(!is_wanted, 0)) {
        leaks_is_partial = 1;
        *slot = (uint16_t)(LEAKS_SLOT_UNTRACKED + kind);
        return;
    }
    uint32_t trace = leaks_trace_of(caller);
    struct leaks_thread *thread = leaks_thread_take();
    if (__builtin_expect(thread == NULL, 0)) {
        leaks_is_partial = 1;
        __atomic_fetch_add(&leaks_lost, 1, __ATOMIC_RELAXED);
        *slot = (uint16_t)(LEAKS_SLOT_UNTRACKED + kind);
        return;
    }
    uint16_t value = leaks_slot_value(address);
    put_record(value, address, size, kind, trace, thread);
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
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

static void report_unknown(uintptr_t address, uint16_t slot, enum leaks_kind kind, bool is_realloc)
{
    struct leaks_error error = {.type = slot == LEAKS_SLOT_FREED ? LEAKS_DOUBLE_FREE : LEAKS_INVALID_FREE,
                                .address = address,
                                .freed_as = (uint8_t)kind,
                                .is_realloc = is_realloc,
                                .here = leaks_trace_here()};
    struct leaks_freed freed = {0};
    if (slot == LEAKS_SLOT_FREED && find_freed(address, &freed)) {
        error.size = freed.size;
        error.serial = freed.serial;
        error.allocated = freed.trace;
        error.freed = freed.free_trace;
    }
    leaks_error_add(&error);
}

void leaks_block_damaged(const struct leaks_record *record, uintptr_t address, uint64_t size, enum leaks_kind kind,
                         uint32_t here)
{
    struct leaks_error error = {
        .type = LEAKS_OVERRUN, .address = address, .freed_as = (uint8_t)kind, .here = here, .found = UINT64_MAX};
    if (record != NULL) {
        error.size = size;
        error.serial = record->zero == 0 ? record->serial : 0;
        error.allocated = record->trace;
        error.allocated_as = record->kind;
        error.found = leaks_guard_damage(address, size);
    }
    leaks_error_add(&error);
}

static void report_mismatch(const struct leaks_record *record, uintptr_t address, enum leaks_kind allocated,
                            enum leaks_kind freed)
{
    struct leaks_error error = {.type = LEAKS_MISMATCH,
                                .address = address,
                                .size = record == NULL ? 0 : leaks_record_size(record, address),
                                .serial = record == NULL ? 0 : record->serial,
                                .allocated = record == NULL ? 0 : record->trace,
                                .allocated_as = (uint8_t)allocated,
                                .freed_as = (uint8_t)freed,
                                .here = leaks_trace_here()};
    leaks_error_add(&error);
}

/* What is wrong with a block that is being freed as `kind`; false where there is none at the address. */
static __attribute__((noinline, cold)) bool check_without_record(uintptr_t address, uint16_t slot, enum leaks_kind kind,
                                                                 bool is_realloc)
{
    if (slot == LEAKS_SLOT_NONE && has_unslotted && address % 16 == 0)
        return true;
    if (slot == LEAKS_SLOT_NONE || slot == LEAKS_SLOT_FREED) {
        report_unknown(address, slot, kind, is_realloc);
        return false;
    }
    if (slot - LEAKS_SLOT_UNTRACKED != (int)kind)
        report_mismatch(NULL, address, (enum leaks_kind)(slot - LEAKS_SLOT_UNTRACKED), kind);
    return true;
}

bool leaks_record_is_whole(const struct leaks_record *record, uint64_t size, uint64_t room)
{
    return size <= room && record->kind <= LEAKS_NEW_ARRAY &&
           (record->trace == 0 ? leaks_trace_lost() != 0 : leaks_trace_is_known(record->trace));
}

static __attribute__((noinline, cold)) void report_wrong(const struct leaks_record *record, uintptr_t address,
                                                         uint64_t size, enum leaks_kind kind)
{
    if (!leaks_record_is_whole(record, size, (uintptr_t)record - address)) {
        leaks_block_damaged(NULL, address, 0, kind, leaks_trace_here());
        return;
    }
    if (record->kind != kind)
        report_mismatch(record, address, record->kind, kind);
    if (leaks_guard_damage(address, size) != 0)
        leaks_block_damaged(record, address, size, kind, leaks_trace_here());
}

static inline __attribute__((always_inline)) void check_record(const struct leaks_record *record, uintptr_t address,
                                                               uint64_t size, enum leaks_kind kind)
{
    if (__builtin_expect(
            record->kind != kind || size > (uintptr_t)record - address || leaks_guard_damage(address, size) != 0, 0))
        report_wrong(record, address, size, kind);
}

bool leaks_block_remove(void *block, enum leaks_kind kind)
{
    uintptr_t address = (uintptr_t)block;
    if (block == NULL)
        return true;
    /* The allocator's size word and, of a small block, the record: while the slot is waited for. */
    __builtin_prefetch((const void *)(address - 8));
    __builtin_prefetch((const void *)(address + 64));
    uint16_t *slot = leaks_slot_find(address), value = slot == NULL ? LEAKS_SLOT_NONE : *slot;
    if (__builtin_expect(value < LEAKS_SLOT_LARGE, 0)) {
        if (!check_without_record(address, value, kind, false))
            return false;
        if (slot != NULL)
            *slot = LEAKS_SLOT_FREED;
        return true;
    }
    const struct leaks_record *record = leaks_record_at(address, value);
    uint64_t size = leaks_record_size(record, address);
    check_record(record, address, size, kind);
    uint32_t free_trace = leaks_options.free_stacks ? leaks_trace_here() : 0;
    struct leaks_thread *thread = leaks_thread_take();
    if (thread != NULL) {
        thread->freed[thread->freed_count++ % LEAKS_FREED_MAX] =
            (struct leaks_freed){address, size, record->serial, record->trace, free_trace};
        leaks_thread_give_back(thread);
    }
    __atomic_store_n(slot, LEAKS_SLOT_FREED, __ATOMIC_RELEASE);
    return true;
}

bool leaks_block_take_out(void *block, uint16_t *slot)
{
    uintptr_t address = (uintptr_t)block;
    uint16_t *place = leaks_slot_find(address);
    *slot = place == NULL ? LEAKS_SLOT_NONE : *place;
    if (*slot < LEAKS_SLOT_LARGE) {
        if (!check_without_record(address, *slot, LEAKS_MALLOC, true))
            return false;
    } else {
        const struct leaks_record *record = leaks_record_at(address, *slot);
        check_record(record, address, leaks_record_size(record, address), LEAKS_MALLOC);
    }
    if (place != NULL)
        __atomic_store_n(place, LEAKS_SLOT_FREED, __ATOMIC_RELEASE);
    return true;
}

void leaks_block_put_back(void *block, uint16_t slot)
{
    uint16_t *place = leaks_slot_find((uintptr_t)block);
    if (place != NULL)
        *place = slot;
}

static struct leaks_record *find_record(const void *block)
{
    uint16_t *slot = leaks_slot_find((uintptr_t)block);
    return slot == NULL || *slot < LEAKS_SLOT_LARGE ? NULL : leaks_record_at((uintptr_t)block, *slot);
}

size_t leaks_block_size(const void *block)
{
    const struct leaks_record *record = find_record(block);
    uint64_t size = record == NULL ? SIZE_MAX : leaks_record_size(record, (uintptr_t)block);
    return size <= (uintptr_t)record - (uintptr_t)block ? size : SIZE_MAX;
}

void leaks_block_become(void *block, enum leaks_kind kind)
{
    uint16_t *slot = leaks_slot_find((uintptr_t)block);
    if (block == NULL || slot == NULL)
        return;
    if (*slot >= LEAKS_SLOT_LARGE)
        leaks_record_at((uintptr_t)block, *slot)->kind = kind & 3;
    else if (*slot != LEAKS_SLOT_NONE && *slot != LEAKS_SLOT_FREED)
        *slot = (uint16_t)(LEAKS_SLOT_UNTRACKED + kind);
}

bool leaks_block_mark(const void *block, unsigned mark)
{
    struct leaks_record *record = find_record(block);
    if (record == NULL)
        return false;
    record->marks |= mark & 3;
    return true;
}
