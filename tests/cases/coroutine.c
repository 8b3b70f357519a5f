/* SPDX-License-Identifier: MIT */
/* Case 7: the first function of a coroutine has no caller; what lies above it on its stack is not one. */
#include "tap.h"
#include "walks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { SIZE = 65536 };

static ucontext_t outside, inside;
static struct walk walked;
static void *stack;
static int levels;

static NOINLINE void walk_here(void)
{
    walked.n = sp_walk(NULL, walked.frames, WALK_MOST, &walked.end);
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void deeper(int n)
{
    if (n > 0)
        deeper(n - 1);
    else
        walk_here();
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void nothing(void)
{
    __asm__ volatile("" ::: "memory");
}

static void body(void)
{
    deeper(levels);
    swapcontext(&inside, &outside);
    deeper(levels);
}

static void run(void *at, int fill, ucontext_t *link)
{
    stack = at;
    memset(stack, fill, SIZE);
    for (levels = 0; levels < 20; levels++) {
        getcontext(&inside);
        inside.uc_stack.ss_sp = stack;
        inside.uc_stack.ss_size = SIZE;
        inside.uc_link = link;
        makecontext(&inside, body, 0);
        for (int i = 0; i < (link != NULL ? 2 : 1); i++) {
            walked.n = 0;
            swapcontext(&outside, &inside);
            /* walk_here, deeper once or more, body, and what body returns to, if that is in code. */
            EXPECT(walked.end == SP_END_OUTERMOST, "end: %s", sp_end_name(walked.end));
            EXPECT(walked.n == levels + 3 || walked.n == levels + 4, "%d frames with %d levels", walked.n, levels);
            for (int k = 0; k < walked.n; k++)
                EXPECT(walked.frames[k].sp - (uintptr_t)stack <= SIZE, "frame %d is not on the stack", k);
        }
    }
}

static void *map(void)
{
    char *pages = mmap(NULL, SIZE + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(pages != MAP_FAILED && mprotect(pages + 4096, SIZE, PROT_READ | PROT_WRITE) == 0, "no memory");
    return pages + 4096;
}

static void filled(void)
{
    static _Alignas(16) char fixed[SIZE];
    for (int i = 0; i < 2; i++) {
        run(fixed, 0x41, NULL);
        run(fixed, 0x41, &outside);
        run(malloc(SIZE), 0x41, &outside);
        run(map(), 0x41, &outside);
        run(map(), 0, NULL);
        run(map(), 0xff, &outside);
    }
}

/* The CFA in rbx, on another stack than rsp. */
__asm__(".text\n"
        ".type call_on, @function\n"
        "call_on: .cfi_startproc\n pushq %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset %rbx, -16\n movq %rsp, %rbx\n"
        " .cfi_def_cfa_register %rbx\n movq %rsi, %rsp\n call *%rdi\n movq %rbx, %rsp\n .cfi_def_cfa_register %rsp\n"
        " popq %rbx\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc\n");
void call_on(void (*f)(void), void *top) __asm__("call_on");

static void called_on_another_stack(void)
{
    uint64_t *top = (uint64_t *)((char *)map() + SIZE) - 8;
    *top = 0;
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (int i = 0; i < 3; i++) {
        /* A call on another stack is left through the register that keeps the old one. */
        call_on(walk_here, top);
        EXPECT(walked.end == SP_END_NO_PROGRESS || walked.end == SP_END_UNREADABLE ||
                   (walked.end == SP_END_OUTERMOST && walk_ends_with(&walked, &here, 1)),
               "%d frames, end: %s", walked.n, sp_end_name(walked.end));
    }
}

enum { SHORT = 16384 };

static void on_alternate(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    for (volatile int i = 0; i < 4; i++)
        walk_here();
    EXPECT(walked.end == SP_END_OUTERMOST, "in the handler: %s", sp_end_name(walked.end));
}

/* Pages of which the first ones have been the thread's alternate stack, and are it no more. */
static char *map_what_was_alternate(size_t size)
{
    char *pages = map();
    stack_t alternate = {.ss_sp = pages, .ss_size = size};
    EXPECT(sigaltstack(&alternate, NULL) == 0, "no alternate stack");
    handle(SIGUSR1, on_alternate, SA_ONSTACK);
    raise(SIGUSR1);
    alternate.ss_flags = SS_DISABLE;
    EXPECT(sigaltstack(&alternate, NULL) == 0, "it is still there");
    return pages;
}

static void body_with_large_frame(void)
{
    volatile char block[SIZE - SHORT];
    block[levels] = 1;
    deeper(levels + block[levels]);
}

static void in_place_of_an_alternate_stack(void)
{
    char *pages = map_what_was_alternate(SHORT);
    levels = 7;
    for (int i = 0; i < 3; i++) {
        getcontext(&inside);
        inside.uc_stack.ss_sp = pages;
        inside.uc_stack.ss_size = SIZE;
        inside.uc_link = &outside;
        makecontext(&inside, body_with_large_frame, 0);
        swapcontext(&outside, &inside);
        EXPECT(walked.frames[0].sp < (uintptr_t)pages + SHORT, "not on what was the alternate stack");
        EXPECT(walked.end == SP_END_OUTERMOST && walked.n >= levels + 4, "%d frames, end: %s", walked.n,
               sp_end_name(walked.end));
    }
}

/* The return address is that of a call with more in its frame than there is of the stack. */
__asm__(".text\n"
        ".type far, @function\n"
        "far: .cfi_startproc\n subq $20472, %rsp\n .cfi_def_cfa_offset 20480\n call *%rdi\n"
        "far_return: addq $20472, %rsp\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc\n");
extern char far_return[] __asm__("far_return");

static void damaged_in_place_of_an_alternate_stack(void)
{
    /* A shorter stack is in its place. */
    char *pages = map_what_was_alternate(SIZE);
    EXPECT(mprotect(pages + SHORT, SIZE - SHORT, PROT_NONE) == 0, "no memory");
    uint64_t *sp = (uint64_t *)(pages + SHORT / 2);
    ucontext_t context;
    getcontext(&context);
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)nothing;
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    *sp = (uintptr_t)far_return;
    walked.n = sp_walk(&context, walked.frames, WALK_MOST, &walked.end);
    EXPECT(walked.n == 2 && walked.end == SP_END_UNREADABLE, "%d frames, end: %s", walked.n, sp_end_name(walked.end));
}

static ucontext_t one, two;
static volatile long walks, wrong, whole;

static void spin_one(void)
{
    for (;;)
        swapcontext(&one, &two);
}

static void spin_two(void)
{
    for (;;) {
        deeper(5);
        swapcontext(&two, walks >= 300 ? &outside : &one);
    }
}

static void on_profile(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    struct walk walk;
    walk.n = sp_walk(context, walk.frames, WALK_MOST, &walk.end);
    walks = walks + 1;
    if (walk.end != SP_END_OUTERMOST)
        return;
    whole = whole + 1;
    /* Whole means: down to a coroutine's first function, or to main's callers. */
    if (walk.n < 1 || walk.n > 30)
        wrong = wrong + 1;
}

static void swapped_under_a_profiler(void)
{
    ucontext_t *contexts[] = {&one, &two};
    void (*const functions[])(void) = {spin_one, spin_two};
    for (int i = 0; i < 2; i++) {
        getcontext(contexts[i]);
        contexts[i]->uc_stack.ss_sp = map();
        contexts[i]->uc_stack.ss_size = SIZE;
        contexts[i]->uc_link = NULL;
        memset(contexts[i]->uc_stack.ss_sp, 0x41, SIZE);
        makecontext(contexts[i], functions[i], 0);
    }
    handle(SIGPROF, on_profile, SA_RESTART);
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &timer, NULL);
    swapcontext(&outside, &one);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_PROF, &timer, NULL);
    EXPECT(walks >= 300 && whole > walks / 2 && wrong == 0, "%ld walks, %ld whole, %ld wrong", walks, whole, wrong);
}

int main(void)
{
    tap_case("a coroutine on a stack full of anything ends at its entry", filled);
    tap_case("a call on another stack", called_on_another_stack);
    tap_case("a coroutine in the place of what was an alternate stack", in_place_of_an_alternate_stack);
    tap_case("the same, and damaged", damaged_in_place_of_an_alternate_stack);
    tap_case("swapcontext under a profiler", swapped_under_a_profiler);
    return tap_end();
}
