/* SPDX-License-Identifier: MIT */
/* Case 15: a call through NULL or another wild pointer: nothing is mapped at the pc, and the return address is at
 * [rsp]. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tap.h"
#include "walks.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

static struct walk walked;
static sigjmp_buf back;

static void on_fault(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    walked.n = sp_walk(context, walked.frames, WALK_MOST, &walked.end);
    siglongjmp(back, 1);
}

static NOINLINE int call(void (*volatile f)(void))
{
    volatile int block[20];
    block[0] = 1;
    if (sigsetjmp(back, 1) == 0)
        f();
    return block[0];
}

/* rbp is live in the caller of the one that calls: it must come through. */
__attribute__((optimize("no-omit-frame-pointer"))) static NOINLINE int call_with_rbp(void (*f)(void))
{
    return call(f) + 1;
}

static void go(int flags)
{
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    handle(SIGSEGV, on_fault, flags);
    handle(SIGBUS, on_fault, flags);
    handle(SIGILL, on_fault, flags);
    void *data = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uintptr_t wild[] = {0, 0x123, (uintptr_t)data, UINT64_C(0x7ffffffff123), (uintptr_t)data + 4095};
    for (unsigned i = 0; i < 3 * sizeof wild / sizeof wild[0]; i++) {
        uintptr_t pc = wild[i / 3];
        call_with_rbp((void (*)(void))pc);
        EXPECT(walked.n > 0 && walked.frames[0].pc == pc && walked.frames[0].size == 8, "pc %#lx: frame 0 is another",
               (unsigned long)pc);
        EXPECT(walked.end == SP_END_OUTERMOST && walked.n == here.n + 3 && walk_ends_with(&walked, &here, 1),
               "pc %#lx: %d frames, end: %s", (unsigned long)pc, walked.n, sp_end_name(walked.end));
    }
}

static void on_its_stack(void)
{
    go(0);
}

static void on_an_alternate_stack(void)
{
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    go(SA_ONSTACK);
}

/* Data that can be read, and is no code: nothing says that a call led there, so the walk ends, or it is right. */
static void into_data(void)
{
    static char data[64];
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    handle(SIGSEGV, on_fault, 0);
    call_with_rbp((void (*)(void))(uintptr_t)data);
    EXPECT(walked.n >= 1 && walked.frames[0].pc == (uintptr_t)data, "frame 0 is another");
    EXPECT(walked.end == SP_END_OUTERMOST ? walk_ends_with(&walked, &here, 1) : walked.n == 1, "%d frames, end: %s",
           walked.n, sp_end_name(walked.end));
}

int main(void)
{
    tap_case("a call to where nothing is mapped", on_its_stack);
    tap_case("the same, handled on an alternate stack", on_an_alternate_stack);
    tap_case("a call into data", into_data);
    return tap_end();
}
