/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "walks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

enum { SHADOW_MOST = 4096, TRAP_FLAG = 0x100 };

void (*step_visitor)(const void *ucontext);
int step_flags = SA_ONSTACK;

/* The return addresses of the frames, outermost first, and where they lie. */
static struct {
    uintptr_t at, pc;
} shadow[SHADOW_MOST];
static int depth;

static uintptr_t last_pc, last_sp;
static volatile bool is_stepping;
static struct tally tally;
static struct walk walked, base;

void walk_print(const char *what, const struct walk *walk)
{
    printf("# %s: %d frames, end: %s\n", what, walk->n, sp_end_name(walk->end));
    for (int i = 0; i < walk->n && i < 40; i++)
        printf("#   %2d pc %#lx sp %#lx size %u rule %u%s\n", i, (unsigned long)walk->frames[i].pc,
               (unsigned long)walk->frames[i].sp, walk->frames[i].size, walk->frames[i].rule,
               walk->frames[i].interrupted ? " interrupted" : "");
}

static void print_truth(uintptr_t pc, uintptr_t sp)
{
    printf("# truth: %d frames\n#    0 pc %#lx sp %#lx\n", depth + 1, (unsigned long)pc, (unsigned long)sp);
    for (int i = 1; i <= depth && i < 40; i++)
        printf("#   %2d pc %#lx sp %#lx\n", i, (unsigned long)shadow[depth - i].pc,
               (unsigned long)shadow[depth - i].at + 8);
}

void handle(int signal_number, void (*handler)(int, void *, void *), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigfillset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

static uint64_t load(uintptr_t address)
{
    uint64_t value;
    __asm__("movq %1, %0" : "=r"(value) : "m"(*(const uint64_t *)address));
    return value;
}

static void follow(uintptr_t pc, uintptr_t sp)
{
    while (depth > 0 && shadow[depth - 1].at < sp)
        depth--;
    /* A call pushes the address behind itself. */
    uintptr_t pushed = sp == last_sp - 8 ? load(sp) : 0;
    if (pushed - last_pc >= 2 && pushed - last_pc <= 9 && pc != pushed && depth < SHADOW_MOST) {
        shadow[depth].at = sp;
        shadow[depth++].pc = pushed;
    }
    last_pc = pc;
    last_sp = sp;
}

static bool is_true(uintptr_t pc, uintptr_t sp)
{
    if (walked.n > depth + 1 || (walked.end == SP_END_OUTERMOST && walked.n != depth + 1))
        return false;
    for (int i = 0; i < walked.n; i++)
        if (walked.frames[i].pc != (i == 0 ? pc : shadow[depth - i].pc) ||
            walked.frames[i].sp != (i == 0 ? sp : shadow[depth - i].at + 8))
            return false;
    return walked.n > 0;
}

static void on_trap(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    ucontext_t *context = data;
    if (!is_stepping) {
        context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP], sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    follow(pc, sp);
    if (step_visitor != NULL)
        step_visitor(data);
    walked.n = sp_walk(context, walked.frames, WALK_MOST, &walked.end);
    tally.walks++;
    if (!is_true(pc, sp)) {
        if (tally.wrong++ == 0) {
            walk_print("wrong", &walked);
            print_truth(pc, sp);
        }
    } else if (walked.end != SP_END_OUTERMOST) {
        if (tally.marked++ == 0)
            walk_print("first marked walk", &walked);
    }
}

NOINLINE struct tally walk_each_step(void (*f)(void *), void *argument)
{
    static char alternate[1 << 17];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    handle(SIGTRAP, on_trap, step_flags);

    memset(&tally, 0, sizeof tally);
    base.n = sp_walk(NULL, base.frames, WALK_MOST, &base.end);
    depth = 0;
    for (int i = base.n - 1; i > 0; i--) {
        shadow[depth].at = base.frames[i].sp - 8;
        shadow[depth++].pc = base.frames[i].pc;
    }
    last_sp = 0;
    is_stepping = true;
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
    f(argument);
    is_stepping = false;
    __asm__ volatile("nop" ::: "memory");

    memset(&stack, 0, sizeof stack);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    if (base.end != SP_END_OUTERMOST)
        tally.wrong++;
    return tally;
}

bool walk_ends_with(const struct walk *walk, const struct walk *of, int skip)
{
    int count = of->n - skip;
    if (walk->n < count)
        return false;
    for (int i = 0; i < count; i++) {
        const struct sp_frame *a = &walk->frames[walk->n - count + i], *b = &of->frames[skip + i];
        if (a->pc != b->pc || a->sp != b->sp)
            return false;
    }
    return true;
}

static void on_profile(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    walked.n = sp_walk(context, walked.frames, WALK_MOST, &walked.end);
    tally.walks++;
    if (walked.end != SP_END_OUTERMOST) {
        if (tally.marked++ == 0)
            walk_print("first marked walk", &walked);
    } else if (!walk_ends_with(&walked, &base, 1)) {
        if (tally.wrong++ == 0)
            walk_print("wrong", &walked);
    }
}

NOINLINE struct tally walk_samples(void (*f)(void *), void *argument, long samples)
{
    memset(&tally, 0, sizeof tally);
    base.n = sp_walk(NULL, base.frames, WALK_MOST, &base.end);
    handle(SIGPROF, on_profile, SA_RESTART);
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &timer, NULL);
    while (*(volatile long *)&tally.walks < samples)
        f(argument);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_PROF, &timer, NULL);
    if (base.end != SP_END_OUTERMOST)
        tally.wrong++;
    return tally;
}
