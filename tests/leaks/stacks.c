/* SPDX-License-Identifier: MIT */
/* The stacks of allocations: by known rules they are those of the walker, on stacks of many kinds. */
#include "leaks/stack.h"
#include "walk/rules.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 64 };

/* compare.S: enters compare as the functions that allocate enter theirs. */
void compare_here(void);

static _Atomic unsigned long walked, by_rules, displaced, deepest;
static unsigned limit = MAX;

/* All addresses that this thread's stacks had so far. */
static __thread uintptr_t seen[512];
static __thread size_t seen_count;

static uint64_t place_of(uintptr_t address)
{
    return sp_rules_hash(address) >> (64 - SP_RULES_FIRST_LOG2);
}

static void see(void *const *pcs, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        size_t at = 0;
        while (at < seen_count && seen[at] != (uintptr_t)pcs[i] - 1)
            at++;
        ck_assert_uint_lt(at, sizeof seen / sizeof *seen);
        if (at == seen_count)
            seen[seen_count++] = (uintptr_t)pcs[i] - 1;
    }
}

/*
 * The table of rules has one place for many addresses, and where modules lie is chance: about one process in fifty has
 * two addresses on these stacks that take each other's place. Whether a rule is missing for that reason.
 */
static bool has_displaced(void *const *pcs, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uintptr_t address = (uintptr_t)pcs[i] - 1;
        for (size_t at = 0; at < seen_count && sp_rules_get(address) == 0; at++)
            if (seen[at] != address && place_of(seen[at]) == place_of(address))
                return true;
    }
    return false;
}

void compare(const struct sp_own_registers *caller);
void compare(const struct sp_own_registers *caller)
{
    void *expected[MAX], *pcs[MAX];
    bool is_cut_expected, is_cut = false;
    unsigned count_expected = leaks_stack_walk_fully(caller, expected, limit, &is_cut_expected);
    unsigned count = leaks_stack_walk_by_rules(caller, pcs, limit, &is_cut);
    walked++;
    if (count_expected > deepest)
        deepest = count_expected;
    see(expected, count_expected);
    if (count == 0) {
        displaced += has_displaced(expected, count_expected);
        return;
    }
    by_rules++;
    ck_assert_uint_eq(count, count_expected);
    ck_assert_int_eq(is_cut, is_cut_expected);
    ck_assert_int_eq(memcmp(pcs, expected, count * sizeof *pcs), 0);
}

/* All by rules, from the second time on, but where one rule is displaced by another. */
static void expect_by_rules(void (*run)(void))
{
    run();
    walked = by_rules = displaced = 0;
    run();
    ck_assert_uint_gt(walked, 0);
    ck_assert_uint_eq(by_rules + displaced, walked);
}

__attribute__((noinline)) static void descend(unsigned depth)
{
    if (depth == 0)
        compare_here();
    else
        descend(depth - 1);
    __asm__ volatile("");
}

static void run_plain(void)
{
    for (unsigned depth = 0; depth < 100; depth += 3)
        descend(depth);
}

__attribute__((noinline)) static void with_array(unsigned size, unsigned depth)
{
    char *array = __builtin_alloca(size);
    memset(array, 0x5a, size);
    __asm__ volatile("" : : "r"(array) : "memory");
    if (depth == 0)
        compare_here();
    else
        with_array(size * 7 % 997, depth - 1);
    __asm__ volatile("" : : "r"(array) : "memory");
}

static void run_arrays(void)
{
    for (unsigned size = 1; size < 300; size += 17)
        with_array(size, size % 5);
}

static int order(const void *left, const void *right)
{
    compare_here();
    return *(const int *)left - *(const int *)right;
}

static void run_callback(void)
{
    int numbers[] = {5, 3, 9, 1, 7, 2};
    qsort(numbers, 6, sizeof *numbers, order);
}

static void *in_thread(void *unused)
{
    run_plain();
    run_arrays();
    return unused;
}

static void run_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, in_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void handle(int number)
{
    (void)number;
    descend(3);
}

START_TEST(plain)
{
    expect_by_rules(run_plain);
    ck_assert_uint_eq(deepest, MAX);
}
END_TEST

START_TEST(cut)
{
    for (limit = 1; limit < 12; limit++)
        expect_by_rules(run_plain);
    limit = MAX;
}
END_TEST

START_TEST(arrays)
{
    expect_by_rules(run_arrays);
}
END_TEST

START_TEST(callback)
{
    expect_by_rules(run_callback);
}
END_TEST

START_TEST(threads)
{
    run_threads();
    by_rules = 0;
    run_threads();
    ck_assert_uint_gt(by_rules, 0);
}
END_TEST

/* A signal frame's rule needs more than SP and rbp: the walker's turn. */
START_TEST(handler)
{
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    walked = by_rules = 0;
    raise(SIGUSR1);
    ck_assert_uint_eq(walked, 1);
    ck_assert_uint_eq(by_rules, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("leaks/stacks");
    TCase *cases = tcase_create("stacks");
    tcase_add_test(cases, plain);
    tcase_add_test(cases, cut);
    tcase_add_test(cases, arrays);
    tcase_add_test(cases, callback);
    tcase_add_test(cases, threads);
    tcase_add_test(cases, handler);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
