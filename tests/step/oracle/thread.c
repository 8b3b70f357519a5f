/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include "oracle.h"

#define THREADS 128
#define BIRTHS 64
#define STACK_SIZE (UINT32_C(256) << 10)
#define NEAR 64 /* bytes that a child's SP may have moved before its first trap */

enum slot_state { SLOT_FREE, SLOT_USED, SLOT_ENDING };

/* The alternate stack comes first, so that the slot is found from its address. */
struct slot {
    _Alignas(4096) uint8_t stack[STACK_SIZE];
    uint32_t state;
    struct step_thread thread;
};

struct expected {
    struct step_birth birth;
    struct step_thread *parent;
    uint32_t used;
};

static struct slot *slots;
static struct expected births[BIRTHS];
static long process;

static struct slot *slot_of(const struct step_thread *thread)
{
    return (struct slot *)((uintptr_t)thread - offsetof(struct slot, thread));
}

static bool has_ended(const struct slot *s)
{
    return step_syscall(SYS_tgkill, process, s->thread.tid, 0, 0, 0, 0) != 0;
}

static struct step_thread *claim(void)
{
    if (slots == NULL) {
        slots = step_map(THREADS * sizeof(struct slot));
        process = step_getpid();
        if (slots == NULL)
            return NULL;
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        struct slot *s = &slots[i];
        uint32_t state = __atomic_load_n(&s->state, __ATOMIC_ACQUIRE);
        if (state == SLOT_USED || (state == SLOT_ENDING && !has_ended(s)))
            continue;
        if (!__atomic_compare_exchange_n(&s->state, &state, SLOT_USED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        struct step_thread *t = &s->thread;
        step_zero(t, offsetof(struct step_thread, pending));
        t->tid = (uint32_t)step_gettid();
        t->fresh = true;
        t->own_stack.ss_sp = s->stack;
        t->own_stack.ss_size = STACK_SIZE;
        t->app_stack.ss_flags = SS_DISABLE;
        __atomic_fetch_add(&step_area->threads, 1, __ATOMIC_RELAXED);
        return t;
    }
    return NULL;
}

static struct step_thread *by_stack(const stack_t *installed)
{
    uintptr_t offset = (uintptr_t)installed->ss_sp - (uintptr_t)slots;
    if (slots == NULL || offset >= THREADS * sizeof(struct slot))
        return NULL;
    struct slot *s = &slots[offset / sizeof(struct slot)];
    return s->state == SLOT_USED ? &s->thread : NULL;
}

static struct step_thread *by_tid(uint32_t tid)
{
    for (uint32_t i = 0; slots != NULL && i < THREADS; i++)
        if (slots[i].state == SLOT_USED && slots[i].thread.tid == tid)
            return &slots[i].thread;
    return NULL;
}

/* The creator runs again: the vfork child that used its memory is gone. */
static void end_children(uint32_t parent)
{
    for (uint32_t i = 0; i < THREADS; i++)
        if (slots[i].state == SLOT_USED && slots[i].thread.parent == parent)
            step_thread_end(&slots[i].thread);
}

struct step_thread *step_thread_current(const stack_t *installed)
{
    struct step_thread *t = by_stack(installed);
    if (t != NULL && !t->cloning)
        return t;
    t = by_tid((uint32_t)step_gettid());
    if (t != NULL && t->cloning) {
        t->cloning = false;
        end_children(t->tid);
    }
    return t;
}

void step_thread_expect(struct step_thread *parent, const struct step_birth *birth)
{
    parent->cloning = true;
    for (uint32_t i = 0; i < BIRTHS; i++) {
        uint32_t free = 0;
        if (!__atomic_compare_exchange_n(&births[i].used, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        births[i].birth = *birth;
        births[i].parent = parent;
        __atomic_store_n(&births[i].used, 2, __ATOMIC_RELEASE);
        return;
    }
}

static bool take_birth(uintptr_t sp, struct expected *taken)
{
    for (uint32_t i = 0; i < BIRTHS; i++) {
        uint32_t known = 2;
        if (sp - births[i].birth.child_sp + NEAR > 2 * NEAR ||
            !__atomic_compare_exchange_n(&births[i].used, &known, 3, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        *taken = births[i];
        __atomic_store_n(&births[i].used, 0, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

/* A fork's child has a copy of everything, and one thread. */
static struct step_thread *become_only_thread(struct step_thread *t)
{
    for (uint32_t i = 0; i < THREADS; i++)
        slots[i].state = &slots[i].thread == t ? SLOT_USED : SLOT_FREE;
    for (uint32_t i = 0; i < BIRTHS; i++)
        births[i].used = 0;
    process = step_getpid();
    t->tid = (uint32_t)step_gettid();
    t->cloning = false;
    t->pending_n = 0;
    __atomic_fetch_add(&step_area->processes, 1, __ATOMIC_RELAXED);
    return t;
}

static void copy_state(struct step_thread *to, const struct step_thread *from)
{
    to->pc = from->pc;
    to->sp = from->sp;
    step_copy(to->code, from->code, sizeof to->code);
    to->code_size = from->code_size;
    to->fresh = from->fresh;
    to->transit = from->transit;
    to->transit_from = from->transit_from;
    to->lifted = from->lifted;
    to->lifted_entry = from->lifted_entry;
    to->app_stack = from->app_stack;
}

struct step_thread *step_thread_adopt(uintptr_t sp)
{
    struct expected e;
    bool known = take_birth(sp, &e);
    if (known && (e.birth.flags & 0x100 /* CLONE_VM */) == 0)
        return become_only_thread(e.parent);
    struct step_thread *t = claim();
    if (t == NULL)
        return NULL;
    if (known && !e.birth.own_stack) {
        t->parent = e.parent->tid;
        copy_state(t, e.parent);
        t->strand = step_strand_copy(e.parent->strand);
    } else {
        if (known && (e.birth.flags & 0x4000 /* CLONE_VFORK */) != 0)
            t->parent = e.parent->tid;
        struct step_region region = known && e.birth.region.high != 0 ? e.birth.region : step_region_find(sp - 1);
        struct step_strand *old = step_strand_find(region);
        if (old != NULL && known && e.birth.own_stack && old != e.parent->strand)
            step_strand_free(old);
        t->strand = step_strand_new(region);
        if (t->strand != NULL && !known)
            t->strand->lost = true;
    }
    if (t->strand == NULL) {
        slot_of(t)->state = SLOT_FREE;
        return NULL;
    }
    __atomic_fetch_add(&step_area->strands, 1, __ATOMIC_RELAXED);
    return t;
}

struct step_thread *step_thread_first(uintptr_t sp, uintptr_t at, uintptr_t return_address)
{
    struct step_thread *t = claim();
    if (t == NULL)
        return NULL;
    t->strand = step_strand_new(step_region_find(sp - 1));
    if (t->strand == NULL)
        return NULL;
    if (at != 0)
        step_strand_call(t->strand, at, return_address);
    __atomic_fetch_add(&step_area->processes, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&step_area->strands, 1, __ATOMIC_RELAXED);
    return t;
}

void step_thread_end(struct step_thread *thread)
{
    if (thread->strand != NULL)
        step_strand_free(thread->strand);
    thread->strand = NULL;
    __atomic_store_n(&slot_of(thread)->state, SLOT_ENDING, __ATOMIC_RELEASE);
}
