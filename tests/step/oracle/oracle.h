/* SPDX-License-Identifier: MIT */
/* The parts of the oracle that run in the stepped program, as seen from each other. */
#ifndef STEP_ORACLE_H
#define STEP_ORACLE_H

#include "../area.h"
#include "thread.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* The shared memory; NULL until step_setup succeeded. */
extern struct step_area *step_area;

/* Maps the area whose path the environment names and installs the trap's handler; false where it names none. */
bool step_setup(char **environment);

/* Addresses in the program that mean something to the oracle; 0 where it has none. */
struct step_landmarks {
    uintptr_t makecontext;
};
extern struct step_landmarks step_landmarks;

/* follow.c: what the instruction just executed did. */
enum step_followed { STEP_MOVED, STEP_REPEATED };
enum step_followed step_follow(struct step_thread *thread, uintptr_t pc, uintptr_t sp);

/* Reads the code at pc, for the next step_follow. */
void step_look_ahead(struct step_thread *thread, uintptr_t pc);

/* Forgets the handler that rt_sigreturn leaves, where one was seen. */
void step_finish_sigreturn(struct step_thread *thread);

/* True where `code` starts with a system call. */
bool step_is_syscall(const uint8_t *code, uint32_t size);

/* kernel.c: before a system call. Performs those that would end the stepping in the program's stead and moves the
 * context past them; notes what others will do. True where it performed it. */
bool step_system_call(struct step_thread *thread, ucontext_t *context);

/* Takes over the handlers that the program installed before it was stepped. */
void step_take_handlers(void);

/* The program's handler for a signal; SIG_DFL (0) and SIG_IGN (1) too. */
uintptr_t step_handler_of(int number);

/* judge.c: compares the walks from this context with the truth. */
void step_judge(struct step_thread *thread, const ucontext_t *context);

/* A transfer of control has led to (pc, sp), or back where it came from: judges what waited for it. */
void step_judge_transfer(struct step_thread *thread, bool transferred, uintptr_t pc, uintptr_t sp);

/* Gives up waiting: all pending walks, or only the old ones. */
void step_judge_pending(struct step_thread *thread, bool all);

/* record.c: counts a verdict, and keeps it where it is one to report. */
void step_record(const struct step_thread *thread, const struct step_pending *pending);

/* walkers.c */
void step_walkers_setup(void);

/* Fills *walk with what the walker says from this context; false where this walker is not to be had. A fault of its own
 * is not caught here. */
bool step_walk_by(enum step_walker walker, const ucontext_t *context, uint32_t limit, struct step_walk *walk);

/* trap.c: the signal handlers. */
void step_trap(int number, siginfo_t *info, void *context);

/* Runs unstepped at the start of each handler of the program's. sp is SP at its entry. Returns the handler. */
uintptr_t step_signal_entered(int number, siginfo_t *info, void *context, uintptr_t sp);

/* entry.S */
extern const char step_restorer[];
extern const char step_signal_thunk[];

#endif
