/* SPDX-License-Identifier: MIT */
/*
 * A walk from memory yields what a walk without yields: over random changes of the stack, interrupted by handlers that
 * walk, and across the reuse of a library's addresses by another.
 */
#define _GNU_SOURCE
#include "walk/thread.h"

#include <spwalk.h>

#include <alloca.h>
#include <check.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

enum { MOST = 300, ROUNDS = 300 };

static uint64_t seed = 88172645463325252;

static unsigned random_below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % n;
}

static int walk_without_memory(struct sp_frame *frames, int max, enum sp_end *end)
{
    struct sp_memory *memory = sp_thread.memory;
    sp_thread.has_ended = 1;
    sp_thread.memory = NULL;
    int n = sp_walk(NULL, frames, max, end);
    sp_thread.memory = memory;
    sp_thread.has_ended = 0;
    return n;
}

static long compared, from_memory;

static NOINLINE void compare_walks(void)
{
    struct sp_frame with[MOST], without[MOST];
    void *pcs[MOST];
    enum sp_end end_with, end_without;
    int max = random_below(4) == 0 ? 1 + (int)random_below(40) : MOST;
    memset(with, 0, sizeof with);
    memset(without, 0, sizeof without);
    /* The handler must not take the memory between: it is what is under test. */
    int n = sp_walk(NULL, with, max, &end_with);
    int m = walk_without_memory(without, max, &end_without);
    int k = sp_backtrace(pcs, max);
    ck_assert_int_eq(n, m);
    ck_assert_int_eq(n, k);
    ck_assert_int_eq(end_with, end_without);
    for (int i = 0; i < n; i++) {
        if (i != 0) {
            ck_assert_int_eq(with[i].pc, without[i].pc);
            ck_assert_ptr_eq(pcs[i], (void *)with[i].pc);
        }
        ck_assert_int_eq(with[i].sp, without[i].sp);
        ck_assert_int_eq(with[i].size, without[i].size);
        ck_assert_int_eq(with[i].rule, without[i].rule);
        ck_assert_int_eq(with[i].interrupted, without[i].interrupted);
    }
    compared++;
    if (sp_thread.memory != NULL)
        from_memory++;
}

static NOINLINE int go(unsigned depth);

static NOINLINE int small_frame(unsigned depth)
{
    volatile int local = (int)depth;
    return go(depth) + local;
}

static NOINLINE int other_small_frame(unsigned depth)
{
    volatile int local[5] = {(int)depth};
    int r = go(depth) + local[0];
    return r + 1;
}

static NOINLINE int variable_frame(unsigned depth)
{
    volatile char *block = alloca(16 * (1 + random_below(3)));
    block[0] = (char)depth;
    return go(depth) + block[0];
}

static NOINLINE int realigned_frame(unsigned depth)
{
    _Alignas(64) volatile char block[64];
    block[0] = (char)depth;
    return go(depth) + block[0];
}

static int (*volatile const functions[])(unsigned) = {small_frame, other_small_frame, variable_frame, realigned_frame};

static NOINLINE int go(unsigned depth)
{
    int r = 0;
    do {
        compare_walks();
        if (depth > 0 && random_below(8) != 0)
            r += functions[random_below(4)](depth - 1);
        compare_walks();
    } while (random_below(4) == 0);
    return r;
}

static NOINLINE int chain_down(unsigned depth, unsigned below)
{
    return depth == 0 ? go(below) : functions[0] == NULL ? 0 : chain_down(depth - 1, below) + 1;
}

START_TEST(random_stacks)
{
    for (int i = 0; i < ROUNDS; i++)
        chain_down(random_below(30), random_below(12));
    ck_assert_int_gt(compared, 5000);
    ck_assert_int_gt(from_memory, compared * 9 / 10);
}
END_TEST

static volatile sig_atomic_t handled;

static void walk_in_handler(int number, siginfo_t *info, void *ucontext)
{
    (void)number;
    (void)info;
    struct sp_frame frames[MOST];
    enum sp_end end;
    int n = sp_walk(ucontext, frames, MOST, &end);
    if (n > 0 && (end == SP_END_OUTERMOST || end == SP_END_FULL))
        handled = handled + 1;
    else
        abort();
}

START_TEST(random_stacks_interrupted)
{
    struct sigaction action = {.sa_sigaction = walk_in_handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &timer, NULL);
    for (int i = 0; i < ROUNDS || handled < 20; i++)
        chain_down(random_below(30), random_below(12));
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_PROF, &timer, NULL);
}
END_TEST

/* Under AddressSanitizer libraries are seldom loaded where another was. */
#ifdef __SANITIZE_ADDRESS__
enum { LOADS_IN_PLACE = 0 };
#else
enum { LOADS_IN_PLACE = 1 };
#endif

/* Two libraries alike in all but the size of one frame and what calls what, loaded in turn at the same addresses. */
START_TEST(a_library_in_the_place_of_another)
{
    const char *paths[] = {LIBRARY_A, LIBRARY_B};
    void *address[2] = {NULL, NULL};
    int same = 0;
    for (int i = 0; i < 40; i++) {
        void *library = dlopen(paths[i % 2], RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(library != NULL, "%s", dlerror());
        int (*call)(void (*)(void));
        *(void **)&call = dlsym(library, "library_call");
        ck_assert_ptr_nonnull(*(void **)&call);
        for (int k = 0; k < 4; k++)
            call(compare_walks);
        address[i % 2] = *(void **)&call;
        same += address[0] == address[1];
        dlclose(library);
    }
    /* Where the loader never reuses the place, this test tests nothing. */
    ck_assert_int_gt(same, 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("memory");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, random_stacks);
    tcase_add_test(tcase, random_stacks_interrupted);
    if (LOADS_IN_PLACE)
        tcase_add_test(tcase, a_library_in_the_place_of_another);
    Suite *suite = suite_create("walk from memory");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
