/* SPDX-License-Identifier: MIT */
/*
 * A walk that never ends: at one of its instructions after another a handler leaves it by siglongjmp. Whatever it has
 * left half done, the walks that follow are right.
 */
#include "../cases/tap.h"
#include "../cases/walks.h"
#include "single_step.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>

enum { DEPTH = 12, STEPS_MOST = 20000, PLACES = 60 };

static struct walk here, walked;
static void *pcs[WALK_MOST];
static sigjmp_buf back;
static volatile long steps, leave_at;
static volatile bool has_ended;

static void on_step(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    if (++steps == leave_at)
        siglongjmp(back, 1);
}

static NOINLINE void step_backtrace(void)
{
    STEP_ON;
    sp_backtrace(pcs, WALK_MOST);
    STEP_OFF;
    has_ended = true;
}

static NOINLINE void step_walk(void)
{
    STEP_ON;
    walked.n = sp_walk(NULL, walked.frames, WALK_MOST, &walked.end);
    STEP_OFF;
    has_ended = true;
}

static NOINLINE void look(void)
{
    walked.n = sp_walk(NULL, walked.frames, WALK_MOST, &walked.end);
    int n = sp_backtrace(pcs, WALK_MOST);
    EXPECT(n == walked.n, "sp_backtrace: %d frames, not %d", n, walked.n);
    for (int i = 1; i < n; i++)
        EXPECT((uintptr_t)pcs[i] == walked.frames[i].pc, "sp_backtrace: frame %d is another", i);
}

static NOINLINE void recurse_otherwise(int n, void (*f)(void))
{
    volatile char block[120];
    block[0] = 1;
    if (n > 0)
        recurse_otherwise(n - 1, f);
    else
        f();
    __asm__ volatile("" ::"r"(block[0]) : "memory");
}

static NOINLINE void expect_right_walks(void (*through)(int, void (*)(void)), int depth)
{
    through(depth, look);
    EXPECT(walked.end == SP_END_OUTERMOST && walked.n == here.n + depth + 3 && walk_ends_with(&walked, &here, 1),
           "left after %ld steps: %d frames at a depth of %d above %d, end: %s", leave_at, walked.n, depth, here.n,
           sp_end_name(walked.end));
}

static NOINLINE void leave_at_each_step(void (*step)(void))
{
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    /* As many places as there is time for. */
    leave_at = 0;
    for (volatile int i = 0; i < 4; i++) {
        steps = 0;
        go_deeper(DEPTH, step);
    }
    const long apart = 1 + steps / PLACES;
    has_ended = false;
    for (leave_at = 1; !has_ended && leave_at < STEPS_MOST; leave_at += apart + leave_at / 50) {
        steps = 0;
        if (sigsetjmp(back, 1) == 0)
            go_deeper(DEPTH, step);
        /* Above where it was, where its frame is known to be gone; below; and with other frames in its place. */
        expect_right_walks(recurse_otherwise, 1);
        expect_right_walks(go_deeper, DEPTH);
        expect_right_walks(recurse_otherwise, DEPTH + 3);
    }
    EXPECT(has_ended && leave_at > 100, "%ld steps", leave_at);
    printf("# a walk of %ld steps, left after each %ld at first\n", steps, apart);
}

static void on_its_stack(void)
{
    handle(SIGTRAP, on_step, 0);
    leave_at_each_step(step_backtrace);
    leave_at_each_step(step_walk);
}

static void from_an_alternate_stack(void)
{
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    handle(SIGTRAP, on_step, SA_ONSTACK);
    leave_at_each_step(step_backtrace);
    leave_at_each_step(step_walk);
}

int main(void)
{
    tap_case("left by a handler on the stack that is walked", on_its_stack);
    tap_case("left by a handler on an alternate stack", from_an_alternate_stack);
    return tap_end();
}
