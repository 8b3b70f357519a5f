/* SPDX-License-Identifier: MIT */
/*
 * Code that walks, with a handler at each of its instructions that walks too, from memory and not, kept and not, whole
 * and cut: each is the walk that there is without memory. Frames come and go that take rbp for their CFA, that save
 * it, and that have words.
 */
#include "walk/thread.h"

#include "../cases/tap.h"
#include "../cases/walks.h"
#include "single_step.h"
#include "without_memory.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { SMALL_MOST = 40, ALTERNATE = 65536 };

static uint64_t seed = 88172645463325252;

static unsigned random_below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % n;
}

static int first_difference(void *const *pcs, int n, const struct walk *true_walk, int from)
{
    if (n != true_walk->n)
        return n < true_walk->n ? n : true_walk->n;
    for (int i = from; i < n; i++)
        if ((uintptr_t)pcs[i] != true_walk->frames[i].pc)
            return i;
    return -1;
}

static volatile long steps, steps_in_walks, wrong, cut;
static char first_wrong[160];

static void note(const char *what, int frame, int n, const struct walk *true_walk)
{
    if (wrong == 0)
        snprintf(first_wrong, sizeof first_wrong, "%s: frame %d is another, of %d frames; without memory %d", what,
                 frame, n, true_walk->n);
    wrong = wrong + 1;
}

static void on_step(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    static struct walk true_walk;
    static void *pcs[WALK_MOST];
    struct sp_memory *memory = sp_thread.memory;
    bool is_in_walk = memory != NULL && memory->walk_sp != 0;
    steps = steps + 1;
    steps_in_walks = steps_in_walks + is_in_walk;

    int max = random_below(3) == 0 ? 1 + (int)random_below(SMALL_MOST) : WALK_MOST;
    int n = sp_backtrace_context(context, pcs, max);
    walk_without_memory(context, &true_walk, max);
    int difference = first_difference(pcs, n, &true_walk, 0);
    if (difference >= 0)
        note("a context's walk", difference, n, &true_walk);
    if (is_in_walk != (memory != NULL && memory->walk_sp != 0))
        note("a walk whose memory was taken", 0, n, &true_walk);
    cut = cut + (max == WALK_MOST && true_walk.end != SP_END_OUTERMOST);
    if (memory != NULL && !is_in_walk && random_below(4) == 0)
        sp_thread.unkept = (uint8_t)(random_below(2) * random_below(4));
    if (random_below(3) == 0) {
        n = sp_backtrace(pcs, max);
        walk_without_memory(NULL, &true_walk, max);
        difference = first_difference(pcs, n, &true_walk, 1);
        if (difference >= 0)
            note("a handler's walk", difference, n, &true_walk);
    }
}

static NOINLINE void step_walk(bool by_context)
{
    static struct walk true_walk;
    static void *pcs[WALK_MOST];
    ucontext_t context;
    getcontext(&context);
    walk_without_memory(by_context ? &context : NULL, &true_walk, WALK_MOST);
    STEP_ON;
    int n = by_context ? sp_backtrace_context(&context, pcs, WALK_MOST) : sp_backtrace(pcs, WALK_MOST);
    STEP_OFF;
    int difference = first_difference(pcs, n, &true_walk, by_context ? 0 : 1);
    if (difference >= 0)
        note("a walk that is interrupted", difference, n, &true_walk);
}

static unsigned kinds;
static NOINLINE int go(unsigned depth, bool by_context);

static NOINLINE int small_frame(unsigned depth, bool by_context)
{
    volatile int local = (int)depth;
    return go(depth, by_context) + local;
}

static NOINLINE int large_frame(unsigned depth, bool by_context)
{
    volatile int local[9] = {(int)depth};
    return go(depth, by_context) + local[0];
}

static NOINLINE int variable_frame(unsigned depth, bool by_context)
{
    volatile char *block = alloca(16 * (1 + random_below(3)));
    block[0] = (char)depth;
    return go(depth, by_context) + block[0];
}

/* It has something else in rbp, when it is interrupted too. */
static NOINLINE int frame_that_saves_rbp(unsigned depth, bool by_context)
{
    int r;
    __asm__ volatile("xorl %%ebp, %%ebp\n nop\n nop" ::: "rbp");
    r = go(depth, by_context);
    STEP_ON;
    __asm__ volatile("movl $1, %%ebp\n nop\n nop" ::: "rbp");
    STEP_OFF;
    return r + 1;
}

static NOINLINE int go(unsigned depth, bool by_context)
{
    static int (*volatile const functions[])(unsigned, bool) = {small_frame, large_frame, frame_that_saves_rbp,
                                                                variable_frame};
    if (depth != 0)
        return functions[random_below(kinds)](depth - 1, by_context) + 1;
    step_walk(by_context);
    return 0;
}

static NOINLINE int above(unsigned n, unsigned depth)
{
    if (n > 0)
        return above(n - 1, depth) + 1;
    return go(depth, random_below(2) == 0) + go(random_below(6), random_below(2) == 0);
}

static unsigned stack_flags;

static void *walk_often(void *rounds)
{
    /* On the same stack, which lies above the frames that are walked. */
    char alternate[ALTERNATE];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate, .ss_flags = (int)stack_flags};
    sigaltstack(&stack, NULL);
    for (int i = 0; i < *(int *)rounds; i++) {
        kinds = 3 + random_below(2);
        above(random_below(50), random_below(12));
    }
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    return rounds;
}

static void walk_each_step_of_each(int flags)
{
    static int rounds = 5;
    pthread_t thread;
    steps = steps_in_walks = wrong = cut = 0;
    handle(SIGTRAP, on_step, flags);
    EXPECT(pthread_create(&thread, NULL, walk_often, &rounds) == 0, "no thread");
    pthread_join(thread, NULL);
    walk_often(&rounds);
    EXPECT(wrong == 0, "%ld walks wrong of %ld; the first: %s", wrong, steps, first_wrong);
    /* No CFI tells where STEP_OFF moves the stack pointer. */
    EXPECT(cut < steps / 100, "%ld walks of %ld without memory are not whole", cut, steps);
    EXPECT(steps_in_walks > 1000 && steps > steps_in_walks, "%ld steps, %ld in walks", steps, steps_in_walks);
}

static void on_the_same_stack(void)
{
    walk_each_step_of_each(0);
}

static void on_an_alternate_stack(void)
{
    walk_each_step_of_each(SA_ONSTACK);
}

/* Of which the kernel says, while the handler runs, that there is none. */
static void on_a_disarmed_stack(void)
{
    stack_flags = 1u << 31; /* SS_AUTODISARM, which libc does not define */
    walk_each_step_of_each(SA_ONSTACK);
    stack_flags = 0;
}

/* A handler in the midst of the walk at which a thread gets its memory may have got some: it must not be lost. */
enum { STEPS_MOST = 2000 };
enum outcome { IS_KEPT, IS_LOST, HAD_SOME };

static volatile long walk_at;
static struct sp_memory *volatile got;
static volatile enum outcome outcome;

static void walk_at_a_step(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    static void *pcs[WALK_MOST];
    ucontext_t *context = data;
    steps = steps + 1;
    if (steps < walk_at)
        return;
    context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    if (sp_thread.memory != NULL)
        outcome = HAD_SOME;
    sp_backtrace(pcs, WALK_MOST);
    sp_backtrace(pcs, WALK_MOST);
    got = sp_thread.memory;
}

static enum outcome get_memory(void)
{
    static void *pcs[WALK_MOST];
    sp_backtrace(pcs, WALK_MOST);
    STEP_ON;
    sp_backtrace(pcs, WALK_MOST);
    STEP_OFF;
    return got != NULL && got != sp_thread.memory ? IS_LOST : outcome;
}

static void memory_got_twice(void)
{
    int status = 0;
    handle(SIGTRAP, walk_at_a_step, 0);
    for (walk_at = 1; walk_at < STEPS_MOST && WEXITSTATUS(status) != HAD_SOME; walk_at = walk_at + 1) {
        pid_t child = fork();
        if (child == 0)
            _exit(get_memory());
        EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status), "status %#x", (unsigned)status);
        EXPECT(WEXITSTATUS(status) != IS_LOST, "lost at step %ld", walk_at);
    }
    EXPECT(walk_at > 50 && walk_at < STEPS_MOST, "%ld steps", walk_at);
}

/* A walk that a handler has left by siglongjmp has its memory no more, once a walk further out shows it. */
static sigjmp_buf back;
static void *some_pcs[WALK_MOST];

static void leave_walk(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    if (sp_thread.memory->walk_sp != 0)
        siglongjmp(back, 1);
}

static void walk_context(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    sp_backtrace_context(context, some_pcs, WALK_MOST);
}

static NOINLINE int left_further_in(unsigned depth)
{
    volatile int local = (int)depth;
    if (depth > 0)
        return left_further_in(depth - 1) + local;
    STEP_ON;
    sp_backtrace(some_pcs, WALK_MOST);
    STEP_OFF;
    return local;
}

static void memory_of_a_walk_that_is_left(void)
{
    handle(SIGTRAP, leave_walk, 0);
    handle(SIGUSR1, walk_context, 0);
    for (int i = 0; i < 3; i++)
        sp_backtrace(some_pcs, WALK_MOST);
    for (volatile int by_context = 0; by_context < 2; by_context = by_context + 1) {
        sp_thread.unkept = 0;
        if (sigsetjmp(back, 1) == 0)
            left_further_in(400); /* further than a signal frame and a handler */
        EXPECT(sp_thread.memory->walk_sp != 0, "not left in a walk");
        if (by_context != 0)
            raise(SIGUSR1);
        else
            sp_backtrace(some_pcs, WALK_MOST);
        EXPECT(sp_thread.memory->walk_sp == 0, "%s: the memory is not free again", by_context ? "context" : "own");
    }
}

int main(void)
{
    tap_case("each step of walks, by handlers on the stack that is walked", on_the_same_stack);
    tap_case("each step of walks, by handlers on an alternate stack within it", on_an_alternate_stack);
    tap_case("the same on one that is disarmed meanwhile", on_a_disarmed_stack);
    tap_case("the memory of a thread, got by a walk and by a handler in it", memory_got_twice);
    tap_case("the memory of a walk that is left by siglongjmp", memory_of_a_walk_that_is_left);
    return tap_end();
}
