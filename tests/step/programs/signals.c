/* SPDX-License-Identifier: MIT */
/* Handlers on the interrupted stack and on an alternate one, within each other, for faults, and left by siglongjmp. */
#define _GNU_SOURCE
#include "program.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int handled;
static sigjmp_buf back;

static void plain(int number)
{
    handled += leaf(number);
}

static void nested(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    handled++;
    raise(SIGUSR1);
    leaf(number);
}

static void jumps(int number)
{
    leaf(number);
    siglongjmp(back, number);
}

/* Goes on behind the two bytes of ud2. */
static void skips(int number, siginfo_t *info, void *data)
{
    (void)info;
    ucontext_t *context = data;
    context->uc_mcontext.gregs[REG_RIP] += 2;
    handled += leaf(number);
}

static void set(int number, void (*handler)(int), int flags)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = flags;
    CHECK(sigaction(number, &a, NULL) == 0);
}

/* The fault is the function's first instruction. */
__attribute__((naked)) static NOINLINE void faults_at_once(void)
{
    __asm__("ud2\n\tret");
}

static NOINLINE int faults(int n)
{
    int v = leaf(n);
    __asm__ volatile("ud2" ::: "memory");
    faults_at_once();
    return v + leaf(n);
}

static NOINLINE int reads(volatile int *p)
{
    return leaf(*p) + leaf(1);
}

static NOINLINE void timer(void)
{
    struct itimerval t = {{0, 0}, {0, 3000}};
    CHECK(setitimer(ITIMER_REAL, &t, NULL) == 0);
    for (int before = handled, i = 0; handled == before && i < 2000; i++)
        leaf(i);
}

static char alternate[131072];

int main(void)
{
    fill_stack();
    set(SIGUSR1, plain, 0);
    set(SIGUSR2, (void (*)(int))nested, SA_SIGINFO);
    raise(SIGUSR1);
    raise(SIGUSR2);

    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    CHECK(sigaltstack(&stack, NULL) == 0);
    set(SIGUSR2, (void (*)(int))nested, SA_SIGINFO | SA_ONSTACK);
    raise(SIGUSR2);
    set(SIGILL, (void (*)(int))skips, SA_SIGINFO);
    CHECK(faults(2) != 0);
    set(SIGILL, (void (*)(int))skips, SA_SIGINFO | SA_ONSTACK);
    CHECK(faults(3) != 0);

    for (int onstack = 0; onstack < 2; onstack++) {
        set(SIGSEGV, jumps, onstack ? SA_ONSTACK : 0);
        set(SIGUSR1, jumps, onstack ? SA_ONSTACK : 0);
        if (sigsetjmp(back, 1) == 0)
            reads((volatile int *)16);
        if (sigsetjmp(back, 1) == 0)
            raise(SIGUSR1);
    }
    set(SIGALRM, plain, SA_RESTART | SA_ONSTACK);
    timer();
    set(SIGALRM, plain, 0);
    timer();

    stack_t now;
    CHECK(sigaltstack(NULL, &now) == 0 && now.ss_sp == alternate && now.ss_flags == 0);
    stack.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_DISABLE);
    struct sigaction a;
    CHECK(sigaction(SIGALRM, NULL, &a) == 0 && a.sa_handler == plain);
    sigset_t all;
    sigfillset(&all);
    CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
    leaf(1);
    CHECK(sigprocmask(SIG_UNBLOCK, &all, NULL) == 0);
    CHECK(handled > 0);
    return 0;
}
