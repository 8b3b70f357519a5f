/* SPDX-License-Identifier: MIT */
/* Walks of code that runs: at each of its instructions, or at many of its moments, compared with the true callers. */
#ifndef SPWALK_TESTS_WALKS_H
#define SPWALK_TESTS_WALKS_H

#include <spwalk.h>

#include <stdbool.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { WALK_MOST = 512 };

struct walk {
    int n;
    enum sp_end end;
    struct sp_frame frames[WALK_MOST];
};

/*
 * A walk of the interrupted code may say that it is whole, and then is the truth, or say that it is not, and then is
 * the truth up to where it ends. All else is wrong.
 */
struct tally {
    long walks;
    long marked; /* ended early, and said so */
    long wrong;
};

/*
 * Runs f(argument) with the trap flag set and walks at each instruction, comparing with a shadow stack that is kept
 * from the calls and returns executed. The first wrong walk is printed. f must leave by returning.
 */
struct tally walk_each_step(void (*f)(void *), void *argument);

/* The flags of its handler besides SA_SIGINFO; at first SA_ONSTACK. */
extern int step_flags;

/* Called at each step, if set, before the walk: for what else is to be proved of each instruction. */
extern void (*step_visitor)(const void *ucontext);

/*
 * Runs f(argument) again and again under a timer that interrupts it every millisecond of CPU time, until there have
 * been `samples` walks. Only the callers of this function are known for certain; each walk must end with them.
 */
struct tally walk_samples(void (*f)(void *), void *argument, long samples);

/* The outer frames of `walk` are the frames of `base` from frame `skip` on. */
bool walk_ends_with(const struct walk *walk, const struct walk *base, int skip);

void walk_print(const char *what, const struct walk *walk);

/* Installs a SA_SIGINFO handler. */
void handle(int signal_number, void (*handler)(int, void *, void *), int flags);

/* Calls f from n + 1 frames deeper; here, so that it has words where the test has. */
__attribute__((unused)) static NOINLINE void go_deeper(int n, void (*f)(void))
{
    volatile char block[40];
    block[0] = 1;
    if (n > 0)
        go_deeper(n - 1, f);
    else
        f();
    __asm__ volatile("" ::"r"(block[0]) : "memory");
}

#endif
