/* SPDX-License-Identifier: MIT */
/*
 * A stack that has overflowed, where SP is in a page that can't be read and the frames above it can: the whole chain.
 * And an SP that is anywhere below a stack, with no frame there: no fault.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tap.h"
#include "walks.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, FRAME = 40000, GUARD = 32 * PAGE, STACK = 1 << 20 };

static struct walk here, walked;
static sigjmp_buf back;
static volatile int depth, sink;
static uintptr_t sp_of_fault;

static void on_fault(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    sp_of_fault = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
    walked.n = sp_walk(context, walked.frames, WALK_MOST, &walked.end);
    siglongjmp(back, 1);
}

static NOINLINE int overflow(int n)
{
    volatile char block[FRAME];
    depth = n;
    block[n] = 1;
    return n < FRAME ? overflow(n + 1) + block[n] : 0;
}

/* The innermost call may have been made, or not, when the page was touched. */
static NOINLINE void expect_all_frames(void)
{
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (volatile int i = 0; i < 3; i++) {
        if (sigsetjmp(back, 1) == 0)
            sink = overflow(1);
        int frames = walked.n - here.n;
        EXPECT(walked.end == SP_END_OUTERMOST && walk_ends_with(&walked, &here, 1) && depth > 10 &&
                   (frames == depth || frames == depth + 1),
               "%d frames at a depth of %d above %d, end: %s, SP %#lx", walked.n, depth, here.n,
               sp_end_name(walked.end), (unsigned long)sp_of_fault);
    }
}

static void handle_faults(void)
{
    static char alternate[1 << 16];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    EXPECT(sigaltstack(&stack, NULL) == 0, "no alternate stack");
    handle(SIGSEGV, on_fault, SA_ONSTACK);
}

static void the_first_threads(void)
{
    handle_faults();
    expect_all_frames();
}

static void *in_thread(void *data)
{
    handle_faults();
    expect_all_frames();
    return data;
}

static void another_threads(void)
{
    char *pages = mmap(NULL, GUARD + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(pages != MAP_FAILED && mprotect(pages + GUARD, STACK, PROT_READ | PROT_WRITE) == 0, "no memory");
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, pages + GUARD, STACK);
    EXPECT(pthread_create(&thread, &attributes, in_thread, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void *anywhere_below(void *data)
{
    ucontext_t context;
    void *pcs[WALK_MOST];
    getcontext(&context);
    const uintptr_t sp = (uintptr_t)context.uc_mcontext.gregs[REG_RSP];
    for (uintptr_t below = PAGE; below < (UINT64_C(256) << 20); below += below / 8 / PAGE * PAGE + PAGE + 8) {
        context.uc_mcontext.gregs[REG_RSP] = (greg_t)(sp - below);
        context.uc_mcontext.gregs[REG_RBP] = (greg_t)(sp - below + 64);
        for (int i = 0; i < 2; i++) {
            walked.n = sp_walk(&context, walked.frames, WALK_MOST, &walked.end);
            EXPECT(walked.n >= 1 && walked.end != SP_END_OUTERMOST, "%lu bytes below: %d frames, end: %s", below,
                   walked.n, sp_end_name(walked.end));
            EXPECT(sp_backtrace_context(&context, pcs, WALK_MOST) == walked.n, "%lu bytes below: another walk", below);
        }
        /* What is believed of the stack afterwards. */
        here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
        EXPECT(here.end == SP_END_OUTERMOST, "afterwards: %d frames, end: %s", here.n, sp_end_name(here.end));
    }
    return data;
}

static void no_stack_at_sp(void)
{
    anywhere_below(NULL);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, anywhere_below, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

int main(void)
{
    tap_case("the first thread's stack has overflowed", the_first_threads);
    tap_case("another thread's stack has overflowed", another_threads);
    tap_case("an SP below the stack, where nothing is mapped", no_stack_at_sp);
    return tap_end();
}
