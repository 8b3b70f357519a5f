/* SPDX-License-Identifier: MIT */
#include "walk/bounds.h"

#include "module/kernel.h"
#include "walk/load.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>

enum { PAGE = 4096 };

/*
 * The kernel leaves at least 128 MiB below the top of the first thread's stack to that stack, whatever its limit
 * (mmap_base in arch/x86/mm/mmap.c), so an SP nearer than this to the top is on that stack.
 */
#define FIRST_STACK_SPAN (UINT64_C(100) << 20)

/* A thread's stack is searched for its top this far; beyond, it is treated like a coroutine's. */
#define THREAD_STACK_SPAN (UINT64_C(1) << 30)

/* One step of a walk on an unknown stack leads over at most this much. */
#define EXTEND_SPAN (UINT64_C(16) << 20)

bool sp_is_readable(uintptr_t address)
{
    /* rt_sigprocmask reads the new mask before it finds that `how` is none of its operations. */
    long result = sp_syscall6(SYS_rt_sigprocmask, ~0L, (long)address, 0, 8, 0, 0);
    return result == -EINVAL;
}

static uintptr_t page_of(uintptr_t address)
{
    return address & ~(uintptr_t)(PAGE - 1);
}

static bool pages_are_readable(uintptr_t lo, uintptr_t hi)
{
    for (uintptr_t page = page_of(lo); page < hi; page += PAGE)
        if (!sp_is_readable(page))
            return false;
    return true;
}

/* The 16 random bytes that the kernel puts above the first thread's frames, below the strings of its arguments. */
static uintptr_t first_stack_top(void)
{
    static uintptr_t top;
    uintptr_t known = __atomic_load_n(&top, __ATOMIC_RELAXED);
    if (known == 0) {
        int saved = errno;
        known = getauxval(AT_RANDOM) & ~UINT64_C(7);
        errno = saved;
        __atomic_store_n(&top, known, __ATOMIC_RELAXED);
    }
    return known;
}

static uintptr_t thread_control_block(void)
{
    uintptr_t self;
    __asm__("movq %%fs:0, %0" : "=r"(self));
    return self;
}

/* The first thread's control block, where the library was loaded by that thread. */
static uintptr_t first_control_block;

static bool is_named_as_process(void)
{
    return sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0) == sp_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

__attribute__((constructor)) static void note_first_thread(void)
{
    if (is_named_as_process())
        first_control_block = thread_control_block();
}

/*
 * Its control block lies on no stack, but among what is mapped: perhaps above a coroutine's, with no gap between. In a
 * child that another thread has forked, that thread is named as the process, and is on its own stack all the same.
 */
static bool is_first_thread(void)
{
    return first_control_block != 0 ? thread_control_block() == first_control_block : is_named_as_process();
}

static struct sp_bounds within(uintptr_t lo, uintptr_t hi)
{
    return (struct sp_bounds){lo, hi - 8, false};
}

/* A handler may walk between any two of these stores: lo is what makes the pair count, so it is cleared before hi
 * changes. */
static void remember(uintptr_t *lo, uintptr_t *hi, uintptr_t new_lo, uintptr_t new_hi)
{
    if (*hi != new_hi) {
        *lo = UINTPTR_MAX;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        *hi = new_hi;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    *lo = new_lo;
}

static bool is_on_alternate_stack(uintptr_t sp, stack_t *alternate)
{
    return sp_syscall6(SYS_sigaltstack, 0, (long)alternate, 0, 0, 0, 0) == 0 &&
           (alternate->ss_flags & SS_DISABLE) == 0 && sp - (uintptr_t)alternate->ss_sp < alternate->ss_size;
}

/*
 * The lowest page of a stack from that of sp on, with all between it and hi. Where sp is below what is mapped, as where
 * the stack has overflowed, it is found by halves: the first thread's stack is one mapping, and below it is nothing.
 */
static uintptr_t first_stack_lo(uintptr_t sp, uintptr_t hi)
{
    uintptr_t lo = page_of(sp);
    if (sp_is_readable(lo))
        return lo;
    hi = page_of(hi);
    while (hi - lo > PAGE) {
        uintptr_t middle = page_of(lo + (hi - lo) / 2);
        if (sp_is_readable(middle))
            hi = middle;
        else
            lo = middle;
    }
    return hi;
}

/* The same of another thread's stack, of whose guard pages so many are passed over; 0 where there is none. */
enum { GUARD_PAGES = 64 };

static uintptr_t thread_stack_lo(uintptr_t sp, uintptr_t hi)
{
    uintptr_t lo = page_of(sp);
    for (unsigned i = 0; i < GUARD_PAGES && lo < hi && !sp_is_readable(lo); i++)
        lo += PAGE;
    return lo <= hi && pages_are_readable(lo, hi) ? lo : 0;
}

/* From where up to its top the thread's own stack is known to be readable. */
static uintptr_t known_lo(const struct sp_stacks *stacks, uintptr_t sp, uintptr_t top)
{
    uintptr_t lo = stacks->own_lo;
    return top == stacks->own_hi && sp < lo && lo < top ? lo : top;
}

static bool is_on_remembered_alternate(uintptr_t sp, const struct sp_stacks *stacks)
{
    return sp >= stacks->alt_lo && sp < stacks->alt_hi;
}

struct sp_bounds sp_bounds_find(uintptr_t sp, struct sp_stacks *stacks)
{
    /* What is remembered of it may have been unmapped since, but not where this very function runs on it. */
    if (is_on_remembered_alternate(sp, stacks) &&
        is_on_remembered_alternate((uintptr_t)__builtin_frame_address(0), stacks))
        return within(stacks->alt_lo, stacks->alt_hi);
    uintptr_t top = first_stack_top();
    if (sp < top && top - sp < FIRST_STACK_SPAN) {
        uintptr_t lo = first_stack_lo(sp, known_lo(stacks, sp, top));
        remember(&stacks->own_lo, &stacks->own_hi, lo, top);
        return within(lo, top);
    }
    stack_t alternate;
    if (is_on_alternate_stack(sp, &alternate)) {
        uintptr_t lo = (uintptr_t)alternate.ss_sp, hi = lo + alternate.ss_size;
        remember(&stacks->alt_lo, &stacks->alt_hi, lo, hi);
        return within(lo, hi);
    }
    top = thread_control_block();
    if (sp < top && top - sp < THREAD_STACK_SPAN && !is_first_thread()) {
        uintptr_t lo = thread_stack_lo(sp, known_lo(stacks, sp, top));
        if (lo != 0) {
            remember(&stacks->own_lo, &stacks->own_hi, lo, top);
            return within(lo, top);
        }
    }
    struct sp_bounds bounds = {sp, sp - 8, true};
    if (sp < PAGE || !sp_bounds_extend(&bounds, sp))
        return (struct sp_bounds){UINTPTR_MAX, 0, false};
    return bounds;
}

bool sp_bounds_forget(uintptr_t sp, struct sp_stacks *stacks)
{
    stack_t alternate;
    if (!is_on_remembered_alternate(sp, stacks) || is_on_alternate_stack(sp, &alternate))
        return false;
    stacks->alt_hi = 0;
    return true;
}

bool sp_bounds_extend(struct sp_bounds *bounds, uintptr_t address)
{
    if (!bounds->can_extend || address < bounds->lo || address > UINTPTR_MAX - 2 * PAGE)
        return false;
    if (address <= bounds->last && bounds->last >= bounds->lo)
        return true;
    /* last + 8 is where the readable pages end so far. */
    uintptr_t page = bounds->last + 8;
    if (address - page > EXTEND_SPAN && address >= page)
        return false;
    for (page = page_of(page); page < address + 8; page += PAGE) {
        if (!sp_is_readable(page))
            return false;
        bounds->last = page + PAGE - 8;
    }
    return true;
}

enum { RED_ZONE = 128 };

bool sp_bounds_read(struct sp_bounds *bounds, uintptr_t address, uint64_t *word, unsigned size)
{
    /* Eight bytes are loaded: at the stack's end, those that end with the ones asked for. */
    uintptr_t at = address;
    if (!sp_bounds_hold(bounds, at)) {
        at = address + size - 8;
        if (at > address || !sp_bounds_hold(bounds, at)) {
            /* The red zone (psABI AMD64, 3.2.2) of a frame whose SP is where a page begins. */
            at = address;
            if (bounds->lo - at > RED_ZONE || !sp_is_readable(at))
                return false;
        }
    }
    *word = sp_load(at) >> (address - at) * 8;
    if (size < 8)
        *word &= (UINT64_C(1) << size * 8) - 1;
    return true;
}
