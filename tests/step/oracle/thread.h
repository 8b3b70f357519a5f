/* SPDX-License-Identifier: MIT */
/*
 * What is known of each stepped thread. The kernel's view of a thread is used, its id, and no thread-local storage: a
 * vfork child shares its creator's, and a static program is stepped before it has any.
 */
#ifndef STEP_THREAD_H
#define STEP_THREAD_H

#include "../area.h"
#include "raw.h"
#include "strand.h"
#include "truth.h"

#include <ucontext.h>

/* The instruction about to be executed, and the one after it: a trap comes only after the instruction that follows a
 * system call. */
#define STEP_AHEAD 20

/* A walk that did not match, or that was made while a transfer of control was under way. It is judged when the next
 * transfer is complete, or when it has grown old. */
struct step_pending {
    uint64_t step;
    uint8_t walker;
    uint8_t verdict;
    bool sampled;
    bool transit;
    int32_t differs;
    struct step_start start;
    uint8_t code[STEP_CODE];
    uint8_t code_size;
    uint32_t truth_n; /* the truth at that step, where no transfer was under way */
    struct sp_frame truth[STEP_SHOWN];
    struct step_walk walk;
};

#define STEP_PENDING 48
#define STEP_PENDING_AGE 64 /* steps */

struct step_thread {
    uint32_t tid;
    uint32_t parent; /* the tid of the vfork parent whose memory this process shares, or 0 */
    struct step_strand *strand;

    /* The state before the instruction being executed. */
    uintptr_t pc;
    uintptr_t sp;
    uint8_t code[STEP_AHEAD];
    uint32_t code_size;
    bool fresh;     /* there is no such state yet */
    bool cloning;   /* at a clone: the next trap may be the child's, in this thread's memory */
    bool sigreturn; /* at rt_sigreturn, which goes to: */
    uintptr_t sigreturn_pc;
    uintptr_t sigreturn_sp;

    /* A transfer of control under way: SP has left frames, and the jump or return is yet to come. */
    bool transit;
    uint32_t transit_steps;
    struct step_strand *transit_from;
    bool lifted; /* the return address was popped into a register, and may be pushed back (vfork) */
    struct step_entry lifted_entry;

    bool at_makecontext; /* at its first instruction */

    stack_t own_stack; /* the alternate stack for the trap */
    stack_t app_stack; /* what the program asked for with sigaltstack */

    bool has_thread_pointer;
    bool walking; /* a fault now is a walker's, and goes to: */
    void *recovery[5];

    uint64_t step;     /* steps of this thread */
    uint64_t compared; /* of these, compared */
    uint32_t pending_first;
    uint32_t pending_n;
    struct step_pending pending[STEP_PENDING];
    struct step_walk walk; /* scratch for the walk being compared */
};

/* A thread or process about to be created. */
struct step_birth {
    uint64_t flags;            /* clone's */
    uintptr_t child_sp;        /* where its SP will be */
    bool own_stack;            /* that is not the creator's stack */
    struct step_region region; /* where own_stack, and the call says it */
};

/* The thread that runs now, or NULL where it is not known yet. `installed` is its alternate stack. */
struct step_thread *step_thread_current(const stack_t *installed);

/* A thread not known before, whose SP is sp: a birth that was announced, or one of unknown origin, whose truth is then
 * not told. NULL when there is no room. */
struct step_thread *step_thread_adopt(uintptr_t sp);

/* The process's first thread: its strand starts with this entry, or with none where at is 0. */
struct step_thread *step_thread_first(uintptr_t sp, uintptr_t at, uintptr_t return_address);

void step_thread_expect(struct step_thread *parent, const struct step_birth *birth);

/* The thread is about to end. */
void step_thread_end(struct step_thread *thread);

#endif
