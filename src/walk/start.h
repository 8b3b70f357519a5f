/* SPDX-License-Identifier: MIT */
/* Where a walk starts, and where it puts what it finds. */
#ifndef SPWALK_START_H
#define SPWALK_START_H

#include "cfi/cfi.h"

#include <spwalk.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the entry stubs save of their caller, in the order of entry-macro.S, right below its return address. */
struct sp_own_registers {
    uint64_t rbx, rbp, r12, r13, r14, r15;
    uint64_t pc; /* the return address; above it is the caller's SP, once the call has returned */
};

static inline uintptr_t sp_own_sp(const struct sp_own_registers *own)
{
    return (uintptr_t)(own + 1);
}

struct sp_start {
    uintptr_t pc, sp, rbp;
    bool interrupted;
    const struct sp_own_registers *own; /* one of these two is set */
    const void *ucontext;
};

/* Exactly one of the two buffers is set. */
struct sp_sink {
    void **pcs;
    struct sp_frame *frames;
    int max; /* > 0 */
};

static inline struct sp_start sp_start_own(const struct sp_own_registers *own)
{
    return (struct sp_start){own->pc, sp_own_sp(own), own->rbp, false, own, NULL};
}

struct sp_start sp_start_context(const void *ucontext);

/*
 * The kernel's signal frame (psABI AMD64 says nothing of it; it is Linux's struct rt_sigframe): where the handler's
 * return address points to the restorer, SP is at the ucontext. The registers' places in it, from SP.
 */
enum {
    SP_UCONTEXT_STACK_LO = 16, /* uc_stack.ss_sp */
    SP_UCONTEXT_STACK_SIZE = 32,
    SP_UCONTEXT_GREGS = 40, /* uc_mcontext.gregs: after uc_flags, uc_link, uc_stack */
    SP_UCONTEXT_RBP = SP_UCONTEXT_GREGS + 8 * 10,
    SP_UCONTEXT_RSP = SP_UCONTEXT_GREGS + 8 * 15,
    SP_UCONTEXT_RIP = SP_UCONTEXT_GREGS + 8 * 16,
};

/*
 * Whether the signal frame at `ucontext`, which can be read, is on an alternate stack, and the interrupted sp is not.
 * That stack may lie anywhere, also in a frame of the interrupted one.
 */
bool sp_leaves_alternate_stack(uintptr_t ucontext, uintptr_t sp);

/* Fills all registers from a ucontext that can be read. */
void sp_registers_from_ucontext(uintptr_t ucontext, struct sp_cfi_registers *registers);

/* How many frames were stored. *end is set. */
int sp_walk_fast(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end);

/*
 * The same with all registers followed, frame by frame through CFI: for the few stacks in which a frame's rule needs
 * another register than SP and rbp. Slower by much, and independent of anything remembered.
 */
int sp_walk_full(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end);

#endif
