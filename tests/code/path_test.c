/* SPDX-License-Identifier: MIT */
/* Pieces of code, and what reading them ahead says: each way to an answer, and each reason for none. */
#include <stdlib.h>
#include <string.h>

#include "code/code.h"
#include "suites.h"

/* Code that is never run. It begins at a multiple of 16. */
#define CODE(name, text)                                                                                               \
    extern const uint8_t name[], name##_end[];                                                                         \
    __asm__(".pushsection .rodata\n\t.balign 16\n" #name ":\n\t" text "\n" #name "_end:\n\t.popsection")

static struct sp_code_rule rule;

static enum sp_code_result read_from(const uint8_t *lo, const uint8_t *hi, size_t offset, bool interrupted)
{
    memset(&rule, 0xa5, sizeof rule);
    return sp_code_find_rule((uintptr_t)lo + offset, interrupted, (uintptr_t)lo, (uintptr_t)hi, &rule);
}

#define READ(name) read_from(name, name##_end, 0, true)
#define READ_FROM(name, offset) read_from(name, name##_end, offset, true)
#define READ_RETURN(name, offset) read_from(name, name##_end, offset, false)

static void assert_cfa(unsigned number, int32_t offset)
{
    ck_assert_int_eq(rule.row.cfa.kind, SP_CFA_REGISTER);
    ck_assert_int_eq(rule.row.cfa.register_number, number);
    ck_assert_int_eq(rule.row.cfa.offset, offset);
    ck_assert_int_eq(rule.row.rules[SP_CFI_RA].kind, SP_CFI_OFFSET);
    ck_assert_int_eq(rule.row.rules[SP_CFI_RA].offset, -8);
    ck_assert_int_eq(rule.row.rules[SP_CFI_RSP].kind, SP_CFI_VAL_OFFSET);
    ck_assert_int_eq(rule.row.rules[SP_CFI_RSP].offset, 0);
    ck_assert_int_eq(rule.row.rules[0].kind, SP_CFI_UNDEFINED); /* rax */
}

static void assert_saved(unsigned number, int32_t offset)
{
    ck_assert_int_eq(rule.row.rules[number].kind, SP_CFI_OFFSET);
    ck_assert_int_eq(rule.row.rules[number].offset, offset);
}

static void assert_kind(unsigned number, enum sp_cfi_rule_kind kind)
{
    ck_assert_int_eq(rule.row.rules[number].kind, kind);
}

static void assert_trust(bool past_call, bool aligned_only)
{
    ck_assert_int_eq(rule.past_call, past_call);
    ck_assert_int_eq(rule.aligned_only, aligned_only);
}

CODE(leaf, "nop; ret");
CODE(frame, "push %rbx; push %rbp; sub $24, %rsp; nop; add $24, %rsp; pop %rbp; pop %rbx; ret");
CODE(frame_pointer, "push %rbp; mov %rsp, %rbp; push %rbx; nop; mov -8(%rbp), %rbx; leave; ret");
CODE(big_frame, "add $0x100000, %rsp; pop %r15; ret");

START_TEST(frames)
{
    ck_assert_int_eq(READ(leaf), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 8);
    assert_trust(false, false);
    ck_assert_uint_eq(rule.row.lo, (uintptr_t)leaf);
    ck_assert_uint_eq(rule.row.hi, (uintptr_t)leaf + 1);
    ck_assert_uint_eq(rule.row.function_lo, (uintptr_t)leaf);
    ck_assert_int_eq(rule.row.return_register, SP_CFI_RA);
    const struct {
        size_t offset;
        int32_t cfa;
        bool rbx_saved, rbp_saved;
    } cases[] = {{0, 8, false, false}, {1, 16, true, false}, {2, 24, true, true},   {6, 48, true, true},
                 {7, 48, true, true},  {11, 24, true, true}, {12, 16, true, false}, {13, 8, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(READ_FROM(frame, cases[i].offset), SP_CODE_OK);
        assert_cfa(SP_CFI_RSP, cases[i].cfa);
        assert_kind(SP_CFI_RBX, cases[i].rbx_saved ? SP_CFI_OFFSET : SP_CFI_SAME);
        assert_kind(SP_CFI_RBP, cases[i].rbp_saved ? SP_CFI_OFFSET : SP_CFI_SAME);
        if (cases[i].rbx_saved)
            assert_saved(SP_CFI_RBX, -16);
        if (cases[i].rbp_saved)
            assert_saved(SP_CFI_RBP, -24);
        assert_kind(12, SP_CFI_SAME);
    }
    ck_assert_int_eq(READ(big_frame), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 0x100010);
    assert_saved(15, -16);
}
END_TEST

START_TEST(frame_pointers)
{
    ck_assert_int_eq(READ(frame_pointer), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 8);
    assert_kind(SP_CFI_RBP, SP_CFI_SAME);
    ck_assert_int_eq(READ_FROM(frame_pointer, 1), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
    assert_saved(SP_CFI_RBP, -16);
    ck_assert_int_eq(READ_FROM(frame_pointer, 5), SP_CODE_OK); /* at the nop: by rbp */
    assert_cfa(SP_CFI_RBP, 16);
    assert_saved(SP_CFI_RBP, -16);
    assert_saved(SP_CFI_RBX, -24);
}
END_TEST

/* At the push, rbx is not in the slot yet that it is loaded from by rbp. */
START_TEST(saved_by_rsp_loaded_by_rbp)
{
    ck_assert_int_eq(READ_FROM(frame_pointer, 4), SP_CODE_OK);
    assert_cfa(SP_CFI_RBP, 16);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
}
END_TEST

CODE(stored, "mov %rbx, 8(%rsp); mov $1, %ebx; mov 8(%rsp), %rbx; add $16, %rsp; ret");
CODE(overlapped, "mov %rbx, 8(%rsp); movl $1, 12(%rsp); mov 8(%rsp), %rbx; add $16, %rsp; ret");
CODE(above, "mov 8(%rsp), %rbx; ret");
CODE(below, "mov -8(%rsp), %rbx; ret");
CODE(moved, "mov %r11, %rbx; ret");
CODE(lost, "mov %rdi, %rbx; ret");
CODE(indexed, "mov (%rsp,%rax), %rbx; ret");
CODE(forgotten, "mov %rax, (%rsp); mov %rax, 8(%rsp); mov %rax, 16(%rsp); mov %rax, 24(%rsp); mov %rax, 32(%rsp);"
                "mov %rax, 40(%rsp); mov %rax, 48(%rsp); mov %rax, 56(%rsp); mov %rax, 64(%rsp); mov %rax, 72(%rsp);"
                "mov %rax, 80(%rsp); mov %rax, 88(%rsp); mov %rax, 96(%rsp); mov %rax, 104(%rsp); mov (%rsp), %rbx;"
                "mov 8(%rsp), %r12; mov 104(%rsp), %r13; add $112, %rsp; pop %rbp; ret");

START_TEST(registers)
{
    ck_assert_int_eq(READ(stored), SP_CODE_OK);
    assert_kind(SP_CFI_RBX, SP_CFI_SAME);
    ck_assert_int_eq(READ_FROM(stored, 5), SP_CODE_OK);
    assert_saved(SP_CFI_RBX, -16);
    ck_assert_int_eq(READ(overlapped), SP_CODE_OK);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
    ck_assert_int_eq(READ(above), SP_CODE_OK);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
    ck_assert_int_eq(READ(below), SP_CODE_OK);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
    ck_assert_int_eq(READ(moved), SP_CODE_OK);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
    ck_assert_int_eq(READ(lost), SP_CODE_OK);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
    ck_assert_int_eq(READ(indexed), SP_CODE_OK);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
}
END_TEST

/* More stores than are kept: what they wrote is not taken for what was there before, and what lies past it is. */
START_TEST(many_stores)
{
    ck_assert_int_eq(READ(forgotten), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 128);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
    assert_kind(12, SP_CFI_UNDEFINED);
    assert_kind(13, SP_CFI_UNDEFINED);
    assert_saved(SP_CFI_RBP, -16);
}
END_TEST

CODE(overwritten, "mov %rax, (%rsp); ret");
CODE(pushed, "push %rax; ret");
CODE(popped_into, "pop (%rsp); ret");
CODE(under, "lea -16(%rsp), %rsp; ret");
CODE(by_r11, "mov %r11, %rsp; ret");
CODE(unknown_rsp, "and $-16, %rsp; ret");
CODE(overflow, "add $0x7ffffff8, %rsp; add $0x7ffffff8, %rsp; ret");
CODE(too_far, "add $0x7ffffff8, %rsp; ret");

/* What looks like a return and is none, or not to be told. */
START_TEST(no_return_address)
{
    ck_assert_int_eq(READ(overwritten), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(pushed), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(popped_into), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(under), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(by_r11), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(unknown_rsp), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(overflow), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(too_far), SP_CODE_UNKNOWN);
}
END_TEST

CODE(trap, "int3; ret");
CODE(by_register, "jmp *%rax");
CODE(loop, "1: jmp 1b");
CODE(runs_out, "nop; nop");
CODE(leaves, "jmp .+0x1000");
CODE(leaves_back, "jmp .-0x1000");
CODE(back, "ret; 1: add $8, %rsp; ret; jmp 1b");
CODE(long_way, ".skip 590, 0x90; ret");
CODE(too_long, ".skip 600, 0x90; ret");

START_TEST(ways_that_end)
{
    ck_assert_int_eq(READ(trap), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(by_register), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(loop), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(runs_out), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(leaves), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(leaves_back), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(long_way), SP_CODE_OK);
    ck_assert_int_eq(READ(too_long), SP_CODE_UNKNOWN);
    size_t size = (size_t)(back_end - back);
    ck_assert_int_eq(READ_FROM(back, size - 2), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
    /* The jump goes before what may be read. */
    ck_assert_int_eq(read_from(back + 2, back_end, size - 4, true), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ_FROM(leaf, 2), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ_FROM(leaf, (size_t)-1), SP_CODE_UNKNOWN);
}
END_TEST

CODE(two_frames, "jz 1f; add $8, %rsp; ret; 1: ret");
CODE(two_saved, "jz 1f; pop %rbx; pop %rbp; ret; 1: pop %rbx; add $8, %rsp; ret");
CODE(trap_first, "jz 1f; ud2; 1: add $8, %rsp; ret");
CODE(leave_first, "jz 1f; leave; ret; 1: add $16, %rsp; ret");
CODE(leave_second, "jz 1f; add $16, %rsp; ret; 1: leave; ret");
CODE(looping, "1: dec %rcx; jnz 1b; pop %rbx; ret");

START_TEST(branches)
{
    ck_assert_int_eq(READ(two_frames), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(two_saved), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 24);
    assert_saved(SP_CFI_RBX, -24);
    assert_kind(SP_CFI_RBP, SP_CFI_UNDEFINED);
    ck_assert_int_eq(READ(trap_first), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
    ck_assert_int_eq(READ(leave_first), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 24);
    ck_assert_int_eq(READ(leave_second), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 24);
    ck_assert_int_eq(READ(looping), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
    assert_saved(SP_CFI_RBX, -16);
}
END_TEST

CODE(call_and_return, "call .+0x100; ret");
CODE(call_in_frame, "call .+0x100; add $8, %rsp; ret");
CODE(call_first, "jz 1f; call .+0x100; ret; 1: add $24, %rsp; ret");
CODE(call_second, "jz 1f; add $24, %rsp; ret; 1: call .+0x100; ret");
CODE(both_past_calls, "jz 1f; call .+0x100; ret; 1: call .+0x100; add $24, %rsp; ret");
CODE(two_past_calls, "jz 1f; call .+0x100; add $8, %rsp; ret; 1: call .+0x100; add $24, %rsp; ret");
CODE(many_calls, "call .+0x100; push %rax; call .+0x100; push %rax; call .+0x100; push %rax; call .+0x100; push %rax;"
                 "call .+0x100; add $40, %rsp; ret");
CODE(few_calls, "call .+0x100; push %rax; call .+0x100; push %rax; call .+0x100; push %rax; call .+0x100;"
                "call .+0x100; add $32, %rsp; ret");
CODE(reads_pc, "call 1f; 1: pop %rax; ret");
CODE(clobbers, "mov %rbx, %r11; call .+0x100; mov %r11, %rbx; add $8, %rsp; ret");

START_TEST(calls)
{
    ck_assert_int_eq(READ(call_and_return), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 8);
    assert_trust(true, true);
    ck_assert_int_eq(READ_FROM(call_and_return, 5), SP_CODE_OK); /* interrupted at the return: no call is left */
    assert_trust(false, false);
    ck_assert_int_eq(READ_RETURN(call_and_return, 5), SP_CODE_OK);
    assert_trust(true, true);
    ck_assert_int_eq(READ(call_in_frame), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
    assert_trust(true, false);
    ck_assert_int_eq(READ_RETURN(call_in_frame, 5), SP_CODE_OK);
    assert_trust(true, false);
    ck_assert_int_eq(READ(call_first), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 32);
    assert_trust(false, false);
    ck_assert_int_eq(READ(call_second), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 32);
    assert_trust(false, false);
    ck_assert_int_eq(READ(both_past_calls), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 32);
    assert_trust(true, false);
    ck_assert_int_eq(READ(two_past_calls), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(many_calls), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
    assert_trust(true, true);
    ck_assert_int_eq(READ(few_calls), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
    assert_trust(true, false);
    ck_assert_int_eq(READ(reads_pc), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 8);
    assert_trust(false, false);
    ck_assert_int_eq(READ(clobbers), SP_CODE_OK);
    assert_kind(SP_CFI_RBX, SP_CFI_UNDEFINED);
}
END_TEST

CODE(get_pid, "mov $39, %eax; syscall; add $8, %rsp; ret");
CODE(exits, "mov $60, %eax; syscall; add $8, %rsp; ret");
CODE(exits_group, "mov $231, %rax; syscall; add $8, %rsp; ret");
CODE(restores, "mov $15, %rax; syscall; nop; add $8, %rsp; ret");
CODE(some_call, "syscall; ret");

START_TEST(system_calls)
{
    ck_assert_int_eq(READ(get_pid), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
    assert_trust(true, false);
    ck_assert_int_eq(READ(exits), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(exits_group), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(restores), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(some_call), SP_CODE_OK);
    assert_trust(true, true);
}
END_TEST

CODE(endbr_first, "endbr64; ret");
CODE(endbr_later, "nop; endbr64; ret");
CODE(endbr_jumped_to, "jmp 1f; ret; 1: endbr64; add $8, %rsp; ret");

START_TEST(endbr)
{
    ck_assert_int_eq(READ(endbr_first), SP_CODE_OK);
    ck_assert_int_eq(READ(endbr_later), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(endbr_jumped_to), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 16);
}
END_TEST

/* As linkers make it: the first stub, padding, and one function's, which pushes its number the first time. */
CODE(plt, "push 2f+8(%rip); jmp *2f+16(%rip); .byte 0x0f, 0x1f, 0x40, 0;"
          "jmp *2f+24(%rip); push $0; jmp plt; 2: .skip 32");
CODE(no_plt, "push 2f+8(%rip); jmp *2f+8(%rip); 2: .skip 32");
CODE(pushes_pointer, "push 2f(%rip); add $8, %rsp; ret; 2: .skip 8");

START_TEST(plt_stubs)
{
    const struct {
        size_t offset;
        int32_t cfa;
    } cases[] = {{0, 16}, {6, 24}, {16, 8}, {22, 8}, {24, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(READ_FROM(plt, cases[i].offset) == SP_CODE_OK, "at %zu", cases[i].offset);
        assert_cfa(SP_CFI_RSP, cases[i].cfa);
        assert_trust(false, false);
    }
    ck_assert_int_eq(READ(no_plt), SP_CODE_UNKNOWN);
    ck_assert_int_eq(READ(pushes_pointer), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 8);
    /* Where the first instruction may not be read, the second is as any jump by a pointer. */
    ck_assert_int_eq(read_from(plt + 6, plt_end, 0, true), SP_CODE_OK);
    assert_cfa(SP_CFI_RSP, 8);
}
END_TEST

Suite *path_suite(void)
{
    Suite *suite = suite_create("paths");
    TCase *tests = tcase_create("paths");
    tcase_add_test(tests, frames);
    tcase_add_test(tests, frame_pointers);
    tcase_add_test(tests, saved_by_rsp_loaded_by_rbp);
    tcase_add_test(tests, registers);
    tcase_add_test(tests, many_stores);
    tcase_add_test(tests, no_return_address);
    tcase_add_test(tests, ways_that_end);
    tcase_add_test(tests, branches);
    tcase_add_test(tests, calls);
    tcase_add_test(tests, system_calls);
    tcase_add_test(tests, endbr);
    tcase_add_test(tests, plt_stubs);
    suite_add_tcase(suite, tests);
    return suite;
}
