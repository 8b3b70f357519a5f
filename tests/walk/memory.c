/* SPDX-License-Identifier: MIT */
/*
 * A walk from memory yields what a walk without yields: over random changes of the stack, interrupted by handlers that
 * walk, and across the reuse of a library's addresses by another.
 */
#define _GNU_SOURCE
#include "walk/ahead.h"
#include "walk/progress.h"

#include <spwalk.h>

#include <alloca.h>
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
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

/* A thread whose stacks are new each time keeps no walk, and then walks otherwise. */
static void choose_what_is_kept(void)
{
    if (sp_thread.memory != NULL)
        sp_thread.unkept = random_below(2) == 0 ? 0 : 15;
}

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
    choose_what_is_kept();
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

/* The first two may be left by their words, the others not. */
enum { KINDS_WITH_WORD = 2, KINDS = 4 };
static int (*volatile const functions[KINDS])(unsigned) = {small_frame, other_small_frame, variable_frame,
                                                           realigned_frame};
static unsigned kinds = KINDS;

static NOINLINE int go(unsigned depth)
{
    int r = 0;
    do {
        compare_walks();
        if (depth > 0 && random_below(8) != 0)
            r += functions[random_below(kinds)](depth - 1);
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
    void *pcs[MOST];
    enum sp_end end;
    if (sp_thread.memory != NULL && sp_thread.memory->walk_sp == 0)
        choose_what_is_kept();
    int first = sp_backtrace_context(ucontext, pcs, MOST);
    int n = sp_walk(ucontext, frames, MOST, &end);
    if (n <= 0 || first != n || (end != SP_END_OUTERMOST && end != SP_END_FULL))
        abort();
    for (int again = 0; again < 3; again++) {
        for (int i = 0; i < n; i++)
            if (pcs[i] != (void *)frames[i].pc)
                abort();
        if (sp_backtrace_context(ucontext, pcs, MOST) != n)
            abort();
    }
    handled = handled + 1;
}

static NOINLINE int trapped_in_variable_frame(void)
{
    volatile char *block = alloca(16 * (1 + random_below(3)));
    block[0] = 1;
    __asm__ volatile("int3");
    return block[0];
}

static NOINLINE int trapped_down(unsigned depth, unsigned below)
{
    if (depth != 0)
        return trapped_down(depth - 1, below) + 1;
    if (random_below(2) == 0)
        return trapped_in_variable_frame();
    __asm__ volatile("int3");
    return go(below);
}

static void *walk_words(void *none)
{
    void *pcs[MOST];
    kinds = KINDS_WITH_WORD;
    for (int i = 0; i < ROUNDS; i++) {
        chain_down(random_below(60), random_below(12));
        trapped_down(random_below(60), random_below(4));
    }
    sp_thread.unkept = 0;
    int n = sp_backtrace(pcs, MOST), count = (int)sp_thread.memory->outermost;
    ck_assert_int_eq(count > 0, HAS_WORDS);
    for (int i = 0; i < count; i++)
        ck_assert_ptr_eq((void *)sp_thread.memory->outermost_pc[i], pcs[n - count + i]);
    return none;
}

/*
 * In a thread of its own, where words alone lead to libc's frames: walks go the short ways then, and know the frames
 * that those end at.
 */
START_TEST(random_stacks_of_words)
{
    struct sigaction action = {.sa_sigaction = walk_in_handler, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    sigaction(SIGTRAP, &action, NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, walk_words, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(handled, ROUNDS);
}
END_TEST

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
static struct sp_frame callers[MOST];
static int caller_count;

/* Both of the walks that are compared might be wrong. */
static NOINLINE void compare_with_callers(void)
{
    struct sp_frame frames[MOST];
    enum sp_end end;
    compare_walks();
    int n = sp_walk(NULL, frames, MOST, &end);
    ck_assert_int_eq(end, SP_END_OUTERMOST);
    /* This function, two of the library's, and the callers. */
    ck_assert_int_eq(n, 3 + caller_count);
    for (int i = 1; i < caller_count; i++)
        ck_assert_uint_eq(frames[3 + i].sp, callers[i].sp);
}

START_TEST(a_library_in_the_place_of_another)
{
    enum sp_end end;
    caller_count = sp_walk(NULL, callers, MOST, &end);
    ck_assert_int_eq(end, SP_END_OUTERMOST);
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
            call(compare_with_callers);
        address[i % 2] = *(void **)&call;
        same += address[0] == address[1];
        dlclose(library);
    }
    /* Where the loader never reuses the place, this test tests nothing. */
    ck_assert_int_gt(same, 0);
}
END_TEST

/* More new frames than there are places for them, in front of frames that are kept: those between must not be lost. */
enum { DEEP = 4096 };

static NOINLINE void compare_deep_walks(void)
{
    static struct sp_frame with[DEEP], without[DEEP];
    static void *pcs[DEEP];
    enum sp_end end_with, end_without;
    int m = walk_without_memory(without, DEEP, &end_without);
    for (volatile int again = 0; again < 3; again++) {
        if (sp_thread.memory != NULL)
            sp_thread.unkept = 0;
        int n = again == 1 ? sp_walk(NULL, with, DEEP, &end_with) : sp_backtrace(pcs, DEEP);
        ck_assert_int_eq(n, m);
        for (int i = 1; i < n; i++)
            ck_assert_uint_eq(again == 1 ? with[i].pc : (uintptr_t)pcs[i], without[i].pc);
    }
    ck_assert_int_eq(end_with, SP_END_OUTERMOST);
    ck_assert_int_eq(end_without, SP_END_OUTERMOST);
}

static NOINLINE int deep(unsigned depth)
{
    volatile int local = (int)depth;
    if (depth == 0)
        compare_deep_walks();
    return (depth > 0 ? deep(depth - 1) : 0) + local;
}

static NOINLINE int other_deep(unsigned depth)
{
    volatile int local[5] = {(int)depth};
    if (depth == 0)
        compare_deep_walks();
    return (depth > 0 ? other_deep(depth - 1) : 0) + local[0];
}

static NOINLINE int below_deep(unsigned depth, unsigned first, unsigned then)
{
    volatile int local = (int)depth;
    if (depth > 0)
        return below_deep(depth - 1, first, then) + local;
    return deep(first) + other_deep(then);
}

START_TEST(more_frames_than_are_kept)
{
    static const unsigned around[] = {1000, SP_KEPT_FRAMES - 2, SP_KEPT_FRAMES - 1, SP_KEPT_FRAMES, 1100, 1300, 2500};
    const unsigned count = sizeof around / sizeof around[0];
    for (unsigned i = 0; i < count; i++)
        for (unsigned first = 700; first <= SP_KEPT_FRAMES; first += 81)
            below_deep(20, first, around[i]);
}
END_TEST

START_TEST(what_a_frame_is_come_to_by)
{
    enum { SP = 0x10000, RBP_AT = SP - 24 };
    sp_rule by_sp = sp_rule_make(SP_KIND_SP, 4, 0), by_rbp = sp_rule_make(SP_KIND_RBP, 2, 1);
    ck_assert(sp_way_of(by_sp, RBP_AT, SP).is_plain);
    ck_assert(!sp_way_of(by_rbp, RBP_AT, SP).is_plain);
    ck_assert_uint_eq(sp_way_of(by_rbp, RBP_AT, SP).rbp_below, 3);
    ck_assert_uint_eq(sp_way_of(by_rbp, 0, SP).rbp_below, SP_RBP_AT_START);
    /* What a word shows of any other is not known. */
    const sp_rule others[] = {by_sp | SP_RULE_VOLATILE, by_rbp | SP_RULE_VOLATILE, sp_rule_make(SP_KIND_RBP, 3, 1),
                              sp_rule_make(SP_KIND_SIGNAL, 0, 0), sp_rule_make(SP_KIND_COMPLEX, 0, 0)};
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert(!sp_way_of(others[i], RBP_AT, SP).is_plain);
        ck_assert_uint_eq(sp_way_of(others[i], RBP_AT, SP).rbp_below, 0);
    }
    ck_assert_uint_eq(sp_way_of(by_rbp, RBP_AT + 4, SP).rbp_below, 0);
    ck_assert_uint_eq(sp_way_of(by_rbp, SP + 8, SP).rbp_below, 0);
}
END_TEST

/* A first frame whose caller goes by rbp: the same stack with another rbp is another one, whatever lies on it. */
START_TEST(the_rbp_that_a_walk_starts_with)
{
    enum { FRAMES = 12, WORDS = 4 };
    static uint64_t stack[(FRAMES + 1) * WORDS];
    static struct sp_memory memory;
    struct sp_kept_row *row = memory.row = memory.rows;
    void *pcs[FRAMES];
    uintptr_t lo = (uintptr_t)stack;
    uintptr_t last = lo + sizeof stack - 8;
    row->first = SP_KEPT_ROOM;
    row->end = SP_KEPT_ROOM + FRAMES;
    for (unsigned i = 0; i < FRAMES; i++) {
        uint64_t *sp = stack + 1 + i * WORDS;
        sp[-1] = 0x1000 + i;
        struct sp_way way = {i > 1, i == 1 ? SP_RBP_AT_START : 0};
        sp_kept_put(row, row->first + i, 0x1000 + i, (uintptr_t)sp, way);
    }
    memory.start_pc = 0x1000;
    memory.start_sp = (uintptr_t)(stack + 1);
    memory.is_whole = 1;
    memory.is_interrupted = 1;
    uintptr_t rbp = (uintptr_t)(stack + 1 + WORDS) - 16;
    ck_assert_int_eq(sp_ahead_repeat(&memory, true, rbp, pcs, FRAMES, last), FRAMES);
    for (unsigned i = 0; i < FRAMES; i++)
        ck_assert_uint_eq((uintptr_t)pcs[i], 0x1000 + i);
    ck_assert_int_eq(sp_ahead_repeat(&memory, true, rbp + 16, pcs, FRAMES, last), 0);
    ck_assert_int_eq(sp_ahead_repeat(&memory, false, rbp, pcs, FRAMES, last), 0);
    ck_assert_int_eq(sp_ahead_repeat(&memory, true, rbp, pcs, FRAMES - 1, last), 0);
    stack[WORDS] = 0x2000;
    ck_assert_int_eq(sp_ahead_repeat(&memory, true, rbp, pcs, FRAMES, last), 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("memory");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, random_stacks);
    tcase_add_test(tcase, random_stacks_of_words);
    tcase_add_test(tcase, random_stacks_interrupted);
    tcase_add_test(tcase, more_frames_than_are_kept);
    tcase_add_test(tcase, what_a_frame_is_come_to_by);
    tcase_add_test(tcase, the_rbp_that_a_walk_starts_with);
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
