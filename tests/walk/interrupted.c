/* SPDX-License-Identifier: MIT */
/* Walks from interrupted instructions at which CFI is wrong: right all the same, or marked, and no frame in no code. */
#define _GNU_SOURCE
#include <spwalk.h>

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

extern char wrong_pushed[], wrong_moved[], wrong_realigned[], wrong_realigned_return[], wrong_left[], wrong_jump[],
    right_jump[], calls_wrong_pushes[], calls_wrong_leaves[], calls_right_jumps[], calls_wrong_realigns[], outermost[];

#define PC(label) ((uintptr_t)(label))

enum { MOST = 16 };

static uint64_t stack[256];
static struct sp_frame frames[MOST];
static enum sp_end end;
static ucontext_t context;

static int walk_from(const char *pc, const uint64_t *sp)
{
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)PC(pc);
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    return sp_walk(&context, frames, MOST, &end);
}

static void expect_frame(int i, const char *pc, const uint64_t *sp)
{
    ck_assert_msg(frames[i].pc == PC(pc), "frame %d: pc %#lx, not %p", i, frames[i].pc, pc);
    ck_assert_msg(frames[i].sp == (uintptr_t)sp, "frame %d: sp %#lx, not %p", i, frames[i].sp, (const void *)sp);
}

/* What lies where wrong CFI looks for the return address: anything, or an address that another call has left there. */
static const uintptr_t left_there[] = {0, 0x1234, UINT64_C(0xFFFFFFFFA5C00003), 1, 2, 3};

static uint64_t what_was_left(int i)
{
    switch (left_there[i]) {
    case 1:
        return PC(calls_right_jumps);
    case 2:
        return PC(outermost);
    case 3:
        return PC(stack + 7);
    default:
        return left_there[i];
    }
}

static uint64_t *lay_stack(int i)
{
    memset(&context, 0, sizeof context);
    for (unsigned k = 0; k < sizeof stack / sizeof stack[0]; k++)
        stack[k] = what_was_left(i);
    return stack + 100;
}

static void expect_pushes_stack(const char *pc, const uint64_t *sp, const uint64_t *s)
{
    ck_assert_int_eq(walk_from(pc, sp), 3);
    ck_assert_int_eq(end, SP_END_OUTERMOST);
    expect_frame(0, pc, sp);
    expect_frame(1, calls_wrong_pushes, s + 1);
    expect_frame(2, outermost, s + 5);
}

START_TEST(pushes_without_cfi_are_read_ahead)
{
    uint64_t *s = lay_stack(_i);
    s[0] = PC(calls_wrong_pushes);
    s[4] = PC(outermost);
    for (int i = 0; i < 3; i++)
        expect_pushes_stack(wrong_pushed, s - 2, s);
}
END_TEST

START_TEST(a_moved_rsp_is_read_ahead)
{
    uint64_t *s = lay_stack(_i);
    s[0] = PC(calls_wrong_pushes);
    s[4] = PC(outermost);
    for (int i = 0; i < 3; i++)
        expect_pushes_stack(wrong_moved, s - 16, s);
}
END_TEST

START_TEST(a_popped_rbp_is_the_callers)
{
    uint64_t *s = lay_stack(_i);
    s[0] = PC(calls_wrong_realigns);
    s[3] = (uint64_t)(s + 8); /* the caller's saved rbp */
    s[4] = PC(calls_wrong_realigns);
    s[8] = 0;
    s[9] = PC(outermost);
    for (int i = 0; i < 3; i++) {
        context.uc_mcontext.gregs[REG_RBP] = (greg_t)(s + 3);
        context.uc_mcontext.gregs[REG_R10] = (greg_t)(s + 1);
        const uint64_t *sp = _i % 2 == 0 ? s - 6 : s;
        ck_assert_int_eq(walk_from(_i % 2 == 0 ? wrong_realigned : wrong_realigned_return, sp), 4);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
        expect_frame(1, calls_wrong_realigns, s + 1);
        expect_frame(2, calls_wrong_realigns, s + 5);
        expect_frame(3, outermost, s + 10);
    }
}
END_TEST

START_TEST(a_stack_that_was_left_is_marked)
{
    uint64_t *s = lay_stack(_i);
    s[4] = 0;
    s[5] = PC(calls_wrong_leaves); /* the target's caller, which is not the target */
    s[9] = PC(outermost);
    for (int i = 0; i < 3; i++) {
        context.uc_mcontext.gregs[REG_RBP] = (greg_t)(s + 4);
        ck_assert_int_eq(walk_from(_i % 2 == 0 ? wrong_jump : wrong_left, s), 1);
        ck_assert_int_eq(end, SP_END_NO_RULE);
        ck_assert_int_eq(frames[0].size, 0);
        ck_assert_int_eq(frames[0].rule, SP_RULE_NONE);
    }
}
END_TEST

START_TEST(no_frame_is_given_where_no_code_is)
{
    uint64_t *s = lay_stack(_i);
    s[0] = what_was_left(_i);
    bool is_return_address = s[0] == PC(calls_right_jumps) || s[0] == PC(outermost);
    for (int i = 0; i < 3; i++) {
        int n = walk_from(right_jump, s);
        if (is_return_address) {
            ck_assert_int_ge(n, 2);
            continue;
        }
        ck_assert_int_eq(n, 1);
        /* Outside of the thread's own stacks, 0 is what a coroutine's first function returns to. */
        ck_assert_int_eq(end, s[0] == 0 ? SP_END_OUTERMOST : SP_END_NO_RULE);
    }
    /* And what is right is, afterwards. */
    s[0] = PC(calls_right_jumps);
    s[4] = PC(outermost);
    ck_assert_int_eq(walk_from(right_jump, s), 3);
    ck_assert_int_eq(end, SP_END_OUTERMOST);
}
END_TEST

int main(void)
{
    const int kinds = sizeof left_there / sizeof left_there[0];
    TCase *tcase = tcase_create("interrupted");
    tcase_add_loop_test(tcase, pushes_without_cfi_are_read_ahead, 0, kinds);
    tcase_add_loop_test(tcase, a_moved_rsp_is_read_ahead, 0, kinds);
    tcase_add_loop_test(tcase, a_popped_rbp_is_the_callers, 0, kinds);
    tcase_add_loop_test(tcase, a_stack_that_was_left_is_marked, 0, kinds);
    tcase_add_loop_test(tcase, no_frame_is_given_where_no_code_is, 0, kinds);
    Suite *suite = suite_create("walk from where CFI is wrong");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
