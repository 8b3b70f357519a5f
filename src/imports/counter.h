/* SPDX-License-Identifier: MIT */
/*
 * The counters of the calling thread, and what happens when one of them is still 0.
 *
 * A stub counts with one plain increment in a block that belongs to its thread, found through a thread-local pointer.
 * A thread that has no block points at one that is read-only and all 0, and a counter that is 0 sends the stub here:
 * so one comparison in the stub finds a thread without a block and the first call of a function alike.
 */
#ifndef SPWALK_IMPORTS_COUNTER_H
#define SPWALK_IMPORTS_COUNTER_H

#include <stdint.h>

/* What imports_enter_first_call saved; it restores what is here from r10 on, so a field may be changed. */
struct imports_arguments {
    uint64_t r15, r14, r13, r12, rbx;
    uint64_t r10, r9, r8, rdi, rsi, rdx, rcx, rax, rbp;
    uint64_t import;
    uint64_t return_address;
};

/* Prepares the block look-up. The report must be mapped. */
void imports_counter_start(void);

/* Offset from the thread pointer (%fs) of the thread-local block pointer. */
int64_t imports_counter_offset(void);

/*
 * Counts the call of arguments->import where a stub could not, and notes the first call into a library. Returns the
 * address at which the call continues. Async-signal-safe, thread-safe; preserves errno.
 */
uintptr_t imports_first_call(struct imports_arguments *arguments);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t imports_now(void);

/* Assembly (enter.S). A stub jumps here with the import's index pushed: saves all argument registers, vector ones too.
 */
void imports_enter_first_call(void);
/* Assembly: stands in for main, notes the time and jumps on to imports_real_main. */
void imports_enter_main(void);
extern uintptr_t imports_real_main;
/* Called by imports_enter_main. */
void imports_main_entered(void);

/* How imports_enter_first_call saves vector registers: bytes needed, XSAVE components, and with which instruction. */
extern uint32_t imports_save_size, imports_save_mask;
extern uint32_t imports_save_compact; /* 1: xsavec, 0: xsave, 2: fxsave */

#endif
