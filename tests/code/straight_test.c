/* SPDX-License-Identifier: MIT */
/* What a few instructions in a row tell: the ways they lead, the stack that was left, the call before a return address.
 */
#include <stdlib.h>

#include "code/code.h"
#include "suites.h"

/* Code that is never run. */
#define CODE(name, text)                                                                                               \
    extern const uint8_t name[], name##_end[];                                                                         \
    __asm__(".pushsection .rodata\n\t.balign 16\n" #name ":\n\t" text "\n" #name "_end:\n\t.popsection")
#define LO(name) ((uintptr_t)(name))
#define HI(name) ((uintptr_t)(name##_end))

static struct sp_code_straight straight;

#define READ(name, from, cfa_register, cfa_offset)                                                                     \
    sp_code_read_straight(LO(name) + (from), LO(name), HI(name), cfa_register, cfa_offset, &straight)

enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10, R12 = 12, ALL = 1 << 3 | 1 << 6 | 0xF << 12 };

CODE(straight_realigned, "pop %rbx; pop %r10; pop %r12; pop %rbp; lea -8(%r10), %rsp; ret");
CODE(straight_tail, "pop %rbx; jmp straight_realigned");
CODE(straight_part, "nop; jmp straight_realigned");
CODE(straight_call, "call straight_tail; ret");
CODE(straight_switch, "nop; jmp *(%rax,%rbx,8)");
CODE(straight_pushed, "push %rcx; mov 8(%rdx), %rdi; ret");

START_TEST(ways)
{
    READ(straight_realigned, 6, R10, 0);
    ck_assert_int_eq(straight.way, SP_CODE_BACK);
    ck_assert_uint_eq(straight.live, ALL);
    ck_assert(straight.has_cfa && straight.cfa_register == R10 && straight.cfa_offset == 0);
    READ(straight_realigned, 3, R10, 0);
    ck_assert_uint_eq(straight.live, ALL & ~(1u << RBP | 1u << R12));
    READ(straight_tail, 0, RSP, 16);
    ck_assert_int_eq(straight.way, SP_CODE_BACK);
    ck_assert_uint_eq(straight.live, ALL & ~(1u << RBX));
    READ(straight_part, 0, RSP, 16); /* its frame is still there */
    ck_assert_int_eq(straight.way, SP_CODE_ON);
    READ(straight_call, 0, RSP, 8);
    ck_assert_int_eq(straight.way, SP_CODE_ON);
    READ(straight_switch, 0, RBP, 16);
    ck_assert_int_eq(straight.way, SP_CODE_ELSEWHERE);
    READ(straight_pushed, 0, RSP, 8);
    ck_assert_int_eq(straight.way, SP_CODE_ELSEWHERE);
}
END_TEST

CODE(straight_left, "nop; mov 8(%rax), %rsp; nop; jmp *%rdx; nop");
CODE(straight_restored, "nop; mov -8(%rbp), %rsp; nop; jmp *%rdx");

START_TEST(stacks_that_were_left)
{
    ck_assert(!sp_code_has_left_stack(LO(straight_left), LO(straight_left) + 1));
    ck_assert(sp_code_has_left_stack(LO(straight_left), LO(straight_left) + 5));
    ck_assert(sp_code_has_left_stack(LO(straight_left), LO(straight_left) + 6));
    ck_assert(!sp_code_has_left_stack(LO(straight_left), LO(straight_left) + 8));         /* behind the jump */
    ck_assert(!sp_code_has_left_stack(LO(straight_restored), LO(straight_restored) + 5)); /* alloca's end */
}
END_TEST

CODE(straight_calls, "call *%rax; call *%r12; call *8(%rsp); call *8(%r12,%rax,8); call *0x1000(%rbx);"
                     "call *0x1000(%rax,%rbx); call straight_left; nop; call *straight_left(%rip)");

START_TEST(calls)
{
    static const uint8_t lengths[] = {2, 3, 4, 5, 6, 7, 5};
    struct sp_code_call call;
    uintptr_t at = LO(straight_calls);
    for (unsigned i = 0; i < sizeof lengths; i++) {
        at += lengths[i];
        ck_assert_msg(sp_code_read_call(at, LO(straight_calls), &call), "call %u", i);
        ck_assert_uint_eq(call.target, i == 6 ? LO(straight_left) : 0);
        ck_assert_uint_eq(call.slot, 0);
    }
    ck_assert(!sp_code_read_call(at + 1, LO(straight_calls), &call));
    ck_assert(sp_code_read_call(HI(straight_calls), LO(straight_calls), &call));
    ck_assert_uint_eq(call.slot, LO(straight_left));
    ck_assert(!sp_code_read_call(LO(straight_calls), LO(straight_calls), &call));
}
END_TEST

CODE(straight_stub, "endbr64; bnd jmp *straight_left(%rip)");

START_TEST(stubs)
{
    ck_assert_uint_eq(sp_code_read_stub(LO(straight_stub), HI(straight_stub)), LO(straight_left));
    ck_assert_uint_eq(sp_code_read_stub(LO(straight_stub) + 4, HI(straight_stub)), LO(straight_left));
    ck_assert_uint_eq(sp_code_read_stub(LO(straight_left), HI(straight_left)), 0);
}
END_TEST

/* As libgcc's _Unwind_RaiseException is laid out: what goes to the landing pad comes after the ordinary return. */
CODE(straight_raise, "call *%rax; cmp $7, %eax; je 1f; pop %rbx; ret; 1: call *%rax; nop; call *%rax; pop %rbp;"
                     "mov %rcx, %rsp; pop %rcx; jmp *%rcx");

START_TEST(calls_to_landing_pad)
{
    ck_assert_uint_eq(sp_code_calls_to_landing_pad(LO(straight_raise), LO(straight_raise), HI(straight_raise)), 3);
    ck_assert_uint_eq(sp_code_calls_to_landing_pad(LO(straight_raise) + 2, LO(straight_raise), HI(straight_raise)), 2);
    ck_assert_uint_eq(sp_code_calls_to_landing_pad(LO(straight_raise) + 11, LO(straight_raise), HI(straight_raise)), 1);
    ck_assert_uint_eq(sp_code_calls_to_landing_pad(LO(straight_raise) + 14, LO(straight_raise), HI(straight_raise)), 0);
    ck_assert_uint_eq(sp_code_calls_to_landing_pad(LO(straight_tail), LO(straight_tail), HI(straight_tail)), 9);
}
END_TEST

Suite *straight_suite(void)
{
    Suite *suite = suite_create("straight on");
    TCase *tcase = tcase_create("straight");
    tcase_add_test(tcase, ways);
    tcase_add_test(tcase, stacks_that_were_left);
    tcase_add_test(tcase, calls);
    tcase_add_test(tcase, stubs);
    tcase_add_test(tcase, calls_to_landing_pad);
    suite_add_tcase(suite, tcase);
    return suite;
}
