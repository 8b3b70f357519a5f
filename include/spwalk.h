/* SPDX-License-Identifier: MIT */
/*
 * spwalk: the call stack of the calling thread, from SP alone.
 *
 *     high   | return address |  <- CFA - 8
 *            | saved registers|
 *            | locals         |
 *     low    | frame word     |  <- SP at every call the function makes
 *
 * A function compiled with the spwalk GCC plugin stores the length of its frame
 * in one word at the frame's lowest address. A walk loads the length, adds it to
 * SP, and finds the return address there. Code built without the plugin is walked
 * by its .eh_frame (DWARF 5, section 6.4; System V psABI AMD64, section 3.7), so a
 * stack that mixes both kinds is walked whole.
 *
 * Every function here is async-signal-safe, thread-safe and re-entrant. In steady
 * state none takes a lock, makes a system call, allocates, keeps a descriptor open
 * or changes errno. The first walk of a thread and the first walk through a module
 * may map memory; a walk on a stack that is neither the thread's own nor its
 * alternate signal stack (a coroutine's) asks the kernel, once a page, whether the
 * page can be read. No function here faults on a bad stack: it stops and says why.
 */
#ifndef SPWALK_H
#define SPWALK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a walk ended. Only SP_END_OUTERMOST means that the trace is the whole stack. */
enum sp_end {
    SP_END_OUTERMOST = 0,   /* the thread's or coroutine's first frame was reached */
    SP_END_FULL = 1,        /* the buffer is full; the stack may go on */
    SP_END_NO_RULE = 2,     /* nothing tells how to leave the last frame */
    SP_END_UNREADABLE = 3,  /* the rule points outside the stack, or at memory that cannot be read */
    SP_END_NO_PROGRESS = 4, /* the rule does not lead towards the stack's base (a corrupt or looping stack) */
};

/* By what a frame was left, that is, how its caller was found. */
enum sp_rule {
    SP_RULE_NONE = 0,   /* it was not left: the walk ended at this frame */
    SP_RULE_WORD = 1,   /* by the frame word that its own function stored */
    SP_RULE_CFI = 2,    /* by call frame information, or where code has none by its instructions */
    SP_RULE_SIGNAL = 3, /* it is a signal frame: by the registers the kernel saved in it */
};

struct sp_frame {
    uintptr_t pc;        /* where the frame's function is executing */
    uintptr_t sp;        /* the frame's lowest address */
    uint32_t size;       /* bytes from sp to the caller's sp; 0 where there is no caller, or where the caller's
                            frame is not above on the same stack or 4 GiB away or more */
    uint8_t rule;        /* an enum sp_rule */
    uint8_t interrupted; /* 1: pc is the instruction to be executed next, exactly (a context's first frame, one
                            that a signal interrupted, a landing pad's that an
                            exception goes to next); 0: pc is a return address, whose call is at pc-1 */
};

/*
 * The return addresses of the calling thread's stack, in backtrace(3)'s shape.
 *
 * pcs: a buffer of the caller's for at least max addresses; pcs[0] becomes the return address in the caller of
 * sp_backtrace, pcs[1] the one in that function's caller, and so on. Called in a signal handler it goes through the
 * signal frame into the interrupted code; the pc there is the interrupted one itself.
 * max: the most addresses to store.
 *
 * Returns how many were stored; 0, with nothing touched, where pcs is NULL or max <= 0. Whether the trace is whole is
 * not told: sp_walk tells.
 *
 * Async-signal-safe, thread-safe, re-entrant.
 */
int sp_backtrace(void **pcs, int max);

/*
 * The same from a signal handler's third argument: pcs[0] is the interrupted pc itself, then the return addresses of
 * the interrupted stack. The handler's own frames are not among them.
 *
 * ucontext: a ucontext_t * as the kernel passes it to an SA_SIGINFO handler, or as getcontext(3) fills it; it is read
 * only. Its stack must be the calling thread's or one that does not run meanwhile.
 *
 * Returns how many were stored; 0, with nothing touched, where ucontext or pcs is NULL or max <= 0.
 *
 * Async-signal-safe, thread-safe, re-entrant.
 */
int sp_backtrace_context(const void *ucontext, void **pcs, int max);

/*
 * Walks the stack frame by frame and says why the walk ended.
 *
 * ucontext: as above, or NULL to start at the caller of sp_walk.
 * frames: a buffer of the caller's for at least max frames, innermost first.
 * max: the most frames to store.
 * end: where the reason is stored, or NULL.
 *
 * Returns how many frames were stored; 0, with nothing touched (*end neither), where frames is NULL or max <= 0.
 *
 * Async-signal-safe, thread-safe, re-entrant.
 */
int sp_walk(const void *ucontext, struct sp_frame *frames, int max, enum sp_end *end);

/*
 * The name of a reason: "outermost", "full", "no rule", "unreadable", "no progress"; "unknown" for any other value.
 * The string is static. Async-signal-safe, thread-safe, re-entrant.
 */
const char *sp_end_name(enum sp_end end);

#ifdef __cplusplus
}
#endif

#endif
