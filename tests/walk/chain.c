/* SPDX-License-Identifier: MIT */
/*
 * Walks of real stacks, compared with the chain of return addresses that the functions themselves noted, and with
 * libunwind's answer. Built at several optimisation levels, with and without the plugin.
 */
#define _GNU_SOURCE
#define UNW_LOCAL_ONLY
#include <spwalk.h>

#include <alloca.h>
#include <check.h>
#include <libunwind.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#pragma GCC diagnostic ignored "-Winfinite-recursion"

#define NOINLINE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

enum { MOST = 600 };

/* The return address of each live call, outermost first. */
static __thread void *noted[MOST];
static __thread int depth;

#define ENTER() (noted[depth++] = __builtin_return_address(0))
#define LEAVE() (depth--)

static void expect_chain(const struct sp_frame *frames, int n, int skip)
{
    for (int i = 0; i < depth; i++)
        ck_assert_msg(i + skip < n && frames[i + skip].pc == (uintptr_t)noted[depth - 1 - i],
                      "frame %d of %d is %#lx, not %p", i + skip, n, i + skip < n ? frames[i + skip].pc : 0,
                      noted[depth - 1 - i]);
}

static void expect_like_libunwind(void *const *pcs, int n)
{
    void *theirs[MOST];
    int m = unw_backtrace(theirs, MOST);
    /* Both start in this file's functions; from the first address that both have on they are the same. */
    int i = 0;
    while (i < m && theirs[i] != pcs[2])
        i++;
    ck_assert_int_lt(i, m);
    ck_assert_int_eq(m - i, n - 2);
    ck_assert_int_eq(memcmp(theirs + i, pcs + 2, (size_t)(n - 2) * sizeof *pcs), 0);
}

static NOINLINE void walk_here(void)
{
    ENTER();
    struct sp_frame frames[MOST];
    void *pcs[MOST];
    enum sp_end end;
    for (int i = 0; i < 3; i++) {
        int n = sp_walk(NULL, frames, MOST, &end);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
        expect_chain(frames, n, 1);
        for (int k = 0; k + 1 < n; k++)
            ck_assert_int_eq(frames[k].sp + frames[k].size, frames[k + 1].sp);
        int m = sp_backtrace(pcs, MOST);
        ck_assert_int_eq(m, n);
        for (int k = 1; k < n; k++)
            ck_assert_ptr_eq(pcs[k], (void *)frames[k].pc);
        expect_like_libunwind(pcs, n);
    }
    LEAVE();
}

static NOINLINE int plain(int n, int shape);

static NOINLINE int with_alloca(int n, int shape)
{
    ENTER();
    volatile char *block = alloca((size_t)(n * 16 + 8));
    block[0] = 1;
    int r = plain(n - 1, shape) + block[0];
    LEAVE();
    return r;
}

static NOINLINE int with_alignment(int n, int shape)
{
    ENTER();
    _Alignas(64) volatile char block[64];
    block[0] = 2;
    int r = plain(n - 1, shape) + block[0];
    LEAVE();
    return r;
}

static NOINLINE int with_stack_arguments(int a, int b, int c, int d, int e, int f, int n, int shape)
{
    ENTER();
    int r = plain(n - 1, shape) + a + b + c + d + e + f;
    LEAVE();
    return r;
}

static NOINLINE int with_big_frame(int n, int shape)
{
    ENTER();
    volatile char block[50000];
    block[n] = 3;
    int r = plain(n - 1, shape) + block[n];
    LEAVE();
    return r;
}

static int callback_n, callback_shape, callback_done;

static NOINLINE int compare(const void *a, const void *b)
{
    if (callback_done)
        return 0;
    callback_done = 1;
    /* qsort's own frames lie between: the chain noted so far is checked from its own walk on. */
    int kept_depth = depth;
    depth = 0;
    plain(callback_n, callback_shape);
    depth = kept_depth;
    return *(const int *)a - *(const int *)b;
}

static NOINLINE int through_qsort(int n, int shape)
{
    ENTER();
    int values[] = {3, 1, 2};
    callback_n = n - 1;
    callback_shape = shape;
    callback_done = 0;
    qsort(values, 3, sizeof values[0], compare);
    LEAVE();
    return values[0];
}

static NOINLINE int plain(int n, int shape)
{
    ENTER();
    int r = 0;
    if (n <= 0) {
        walk_here();
    } else {
        switch (shape % 7) {
        case 0:
            r = with_alloca(n, shape / 7);
            break;
        case 1:
            r = with_alignment(n, shape / 7);
            break;
        case 2:
            r = with_stack_arguments(1, 2, 3, 4, 5, 6, n, shape / 7);
            break;
        case 3:
            r = n > 3 ? with_big_frame(n, shape / 7) : plain(n - 1, shape / 7);
            break;
        case 4:
            r = through_qsort(n, shape / 7);
            break;
        default:
            r = plain(n - 1, shape / 7) + 1;
        }
    }
    LEAVE();
    return r;
}

START_TEST(every_shape)
{
    for (int i = 0; i < 7 * 7 * 7 * 7; i++) {
        depth = 0;
        plain(4, i);
    }
    for (int i = 1; i < 120; i++) {
        depth = 0;
        plain(i, i * 1234567);
    }
}
END_TEST

static void *walk_in_thread(void *data)
{
    depth = 0;
    for (int i = 0; i < 200; i++)
        plain(5, i * (int)(intptr_t)data);
    return data;
}

START_TEST(in_threads)
{
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, walk_in_thread, (void *)(i * 31 + 7)), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

static void in_handler(int number, siginfo_t *info, void *ucontext)
{
    (void)number;
    (void)info;
    struct sp_frame own[MOST], theirs[MOST];
    enum sp_end own_end, context_end;
    int n = sp_walk(NULL, own, MOST, &own_end), m = sp_walk(ucontext, theirs, MOST, &context_end);
    ck_assert_int_eq(own_end, SP_END_OUTERMOST);
    ck_assert_int_eq(context_end, SP_END_OUTERMOST);
    /* The handler's frame and the signal frame, then the interrupted stack. */
    int first = 0;
    while (first < n && own[first].rule != SP_RULE_SIGNAL)
        first++;
    first++;
    ck_assert_int_eq(n - first, m);
    for (int i = 0; i < m; i++) {
        ck_assert_int_eq(own[first + i].pc, theirs[i].pc);
        ck_assert_int_eq(own[first + i].sp, theirs[i].sp);
        ck_assert_int_eq(own[first + i].interrupted, i == 0);
        ck_assert_int_eq(theirs[i].interrupted, i == 0);
    }
    ck_assert_int_eq(theirs[0].pc, (uintptr_t)((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP]);
}

static NOINLINE void raise_here(int n)
{
    ENTER();
    if (n > 0)
        raise_here(n - 1);
    else
        raise(SIGUSR1);
    LEAVE();
}

START_TEST(in_handlers)
{
    static char alternate[65536];
    struct sigaction action = {.sa_sigaction = in_handler, .sa_flags = SA_SIGINFO | (_i ? SA_ONSTACK : 0)};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    for (int i = 0; i < 20; i++)
        raise_here(i);
}
END_TEST

static ucontext_t outside, inside;

static void in_coroutine(void)
{
    struct sp_frame frames[MOST];
    enum sp_end end;
    for (int i = 0; i < 3; i++) {
        int n = sp_walk(NULL, frames, MOST, &end);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
        ck_assert_int_ge(n, 1);
        ck_assert_int_le(n, 3);
    }
    swapcontext(&inside, &outside);
}

START_TEST(in_a_coroutine)
{
    char *stack = malloc(65536);
    memset(stack, 0x41, 65536);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = 65536;
    inside.uc_link = NULL;
    makecontext(&inside, in_coroutine, 0);
    swapcontext(&outside, &inside);
    free(stack);
}
END_TEST

static jmp_buf back;

static NOINLINE int jump_out(int n)
{
    if (n == 0)
        longjmp(back, 1);
    volatile char block[100];
    block[0] = 1;
    return jump_out(n - 1) + block[0];
}

START_TEST(after_longjmp)
{
    for (volatile int i = 0; i < 10; i++) {
        depth = 0;
        if (setjmp(back) == 0)
            jump_out(i);
        walk_here();
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("chain");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_shape);
    tcase_add_test(tcase, in_threads);
    tcase_add_loop_test(tcase, in_handlers, 0, 2);
    tcase_add_test(tcase, in_a_coroutine);
    tcase_add_test(tcase, after_longjmp);
    Suite *suite = suite_create("walk of real stacks");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
