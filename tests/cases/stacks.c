/* SPDX-License-Identifier: MIT */
/*
 * Every kind of stack, down to its first frame: the first thread's, others' wherever they were given, alternate signal
 * stacks wherever they lie, and signal frames between. builds.sh builds it in other ways too: static, as static PIE,
 * without section headers.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tap.h"
#include "walks.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { STACK = 65536 };

extern char _start[];

static _Thread_local struct walk here, from_handler, from_context, nested;
static volatile int sink;

static NOINLINE void look(struct walk *to)
{
    to->n = sp_walk(NULL, to->frames, WALK_MOST, &to->end);
    __asm__ volatile("" ::: "memory");
}

static void on_nested(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    look(&nested);
}

static void on_signal(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    from_context.n = sp_walk(context, from_context.frames, WALK_MOST, &from_context.end);
    look(&from_handler);
    raise(SIGUSR2);
}

static void expect_whole(const struct walk *walk, const struct walk *of, const char *what)
{
    if (walk->end != SP_END_OUTERMOST || !walk_ends_with(walk, of, 2)) {
        walk_print(what, walk);
        walk_print("callers", of);
    }
    EXPECT(walk->end == SP_END_OUTERMOST && walk_ends_with(walk, of, 2), "%s: %d frames, end: %s", what, walk->n,
           sp_end_name(walk->end));
}

static void handle_nested(int number, void (*handler)(int, void *, void *), int flags)
{
    struct sigaction action;
    handle(number, handler, flags);
    sigaction(number, NULL, &action);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Here and in handlers, first without memory, then from it. */
static NOINLINE void check_here(void)
{
    handle_nested(SIGUSR1, on_signal, SA_ONSTACK);
    handle(SIGUSR2, on_nested, SA_ONSTACK | SA_NODEFER);
    for (int i = 0; i < 4; i++) {
        look(&here);
        EXPECT(here.end == SP_END_OUTERMOST, "end: %s", sp_end_name(here.end));
        raise(SIGUSR1);
        expect_whole(&from_context, &here, "from the context");
        expect_whole(&from_handler, &here, "from the handler");
        expect_whole(&nested, &from_handler, "from a handler in a handler");
    }
}

static NOINLINE void deeper(int n)
{
    volatile char block[50];
    block[0] = (char)n;
    if (n > 0)
        deeper(n - 1);
    else
        check_here();
    sink = block[0];
}

static void the_first_thread(void)
{
    deeper(5);
    uintptr_t first = here.frames[here.n - 1].pc - (uintptr_t)_start;
    EXPECT(here.n >= 9, "%d frames", here.n);
    EXPECT(first < 64, "the last frame is not _start's: pc %#lx", (unsigned long)here.frames[here.n - 1].pc);
}

static void *in_thread(void *data)
{
    deeper(5);
    EXPECT(here.n >= 9 && here.n <= 12, "%d frames", here.n);
    return data;
}

static void run_thread(void *stack, size_t size, void *(*f)(void *), void *data)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (stack != NULL)
        pthread_attr_setstack(&attributes, stack, size);
    EXPECT(pthread_create(&thread, &attributes, f, data) == 0, "no thread");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

/* A mapping with a page on each side that can't be read. */
static char *map(size_t size)
{
    char *pages = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(pages != MAP_FAILED && mprotect(pages + 4096, size, PROT_READ | PROT_WRITE) == 0, "no memory");
    return pages + 4096;
}

static _Alignas(4096) char fixed[8 * STACK];

static void other_threads(void)
{
    for (int i = 0; i < 3; i++)
        run_thread(NULL, 0, in_thread, NULL);
    run_thread(fixed, sizeof fixed, in_thread, NULL);
    run_thread(map(8 * STACK), 8 * STACK, in_thread, NULL);
    void *allocated;
    EXPECT(posix_memalign(&allocated, 4096, 8 * STACK) == 0, "no memory");
    run_thread(allocated, 8 * STACK, in_thread, NULL);
}

static void use_alternate(void *at, size_t size, int flags)
{
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = at;
    stack.ss_size = size;
    stack.ss_flags = flags;
    EXPECT(sigaltstack(&stack, NULL) == 0, "no alternate stack");
    deeper(3);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
}

static void *alternate_stacks(void *data)
{
    /* In its own frame, below SP later on. */
    char own[STACK];
    use_alternate(own, sizeof own, 0);
    use_alternate(fixed, STACK, 0);
    use_alternate(fixed + 16, STACK - 24, 0);
    use_alternate(malloc(STACK), STACK, 0);
    use_alternate(map(STACK), STACK, 0);
    use_alternate(map(STACK), STACK, (int)SS_AUTODISARM);
    use_alternate(own, sizeof own, (int)SS_AUTODISARM);
    /* One after another: what was known of the last is no more. */
    use_alternate(map(STACK), STACK, 0);
    return data;
}

static void alternate_stacks_of_the_first_thread(void)
{
    alternate_stacks(NULL);
}

static void alternate_stacks_of_threads(void)
{
    run_thread(NULL, 0, alternate_stacks, NULL);
    run_thread(map(8 * STACK), 8 * STACK, alternate_stacks, NULL);
}

/* An alternate stack that is a part of another thread's, as in a pool of memory. */
static void *beside_a_thread(void *data)
{
    use_alternate(fixed + 4 * STACK, STACK, 0);
    return data;
}

static void alternate_stack_beside_a_thread(void)
{
    run_thread(fixed, 4 * STACK, beside_a_thread, NULL);
}

/* More handlers in handlers than a walk would leave stacks for: they are all on one. */
enum { NESTED = 30 };
static int nesting;

static void on_nested_often(int number, void *info, void *context)
{
    (void)info;
    if (++nesting < NESTED)
        raise(number);
    else
        for (volatile int i = 0; i < 4; i++) {
            look(&from_handler);
            from_context.n = sp_walk(context, from_context.frames, WALK_MOST, &from_context.end);
        }
}

static void many_handlers_on_one_stack(void)
{
    stack_t stack = {.ss_sp = fixed, .ss_size = sizeof fixed};
    EXPECT(sigaltstack(&stack, NULL) == 0, "no alternate stack");
    handle_nested(SIGUSR1, on_nested_often, SA_ONSTACK | SA_NODEFER);
    look(&here);
    raise(SIGUSR1);
    expect_whole(&from_handler, &here, "from the innermost handler");
    expect_whole(&from_context, &here, "from its context");
    int signals = 0;
    for (int i = 0; i < from_handler.n; i++)
        signals += from_handler.frames[i].rule == SP_RULE_SIGNAL;
    EXPECT(signals == NESTED, "%d signal frames", signals);
}

/* A stack used by one thread, then by another, and mapped anew between. */
static void a_stack_used_again(void)
{
    for (int i = 0; i < 4; i++) {
        char *stack = map(8 * STACK);
        run_thread(stack, 8 * STACK, in_thread, NULL);
        run_thread(stack + 4 * STACK, 4 * STACK, in_thread, NULL);
        munmap(stack, 8 * STACK);
    }
}

int main(void)
{
    tap_case("the first thread", the_first_thread);
    tap_case("other threads, on stacks of all kinds", other_threads);
    tap_case("alternate signal stacks of the first thread, wherever they lie", alternate_stacks_of_the_first_thread);
    tap_case("alternate signal stacks of other threads", alternate_stacks_of_threads);
    tap_case("an alternate signal stack beside a thread's", alternate_stack_beside_a_thread);
    tap_case("many handlers on one alternate stack", many_handlers_on_one_stack);
    tap_case("a stack used again", a_stack_used_again);
    return tap_end();
}
