/* SPDX-License-Identifier: MIT */
/* Walks over arrays that stand for stacks: each rule, each end, and damage of each kind. */
#define _GNU_SOURCE
#include <spwalk.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

extern char code_leaf[], code_covered_return[], code_plain_return[], code_rbp_return[], code_rbx_return[],
    code_first_return[], code_unknown_return[];

#define WORD UINT64_C(0xFFFFFFFFA5C00003)
#define PC(label) ((uintptr_t)(label))

enum { MOST = 64 };

static uint64_t stack[512];
static struct sp_frame frames[MOST];
static enum sp_end end;

/* Interrupted at the leaf's first instruction, with SP at `sp`. */
static ucontext_t interrupted_at(const uint64_t *sp, const uint64_t *rbp)
{
    ucontext_t context;
    memset(&context, 0, sizeof context);
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)PC(code_leaf);
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context.uc_mcontext.gregs[REG_RBP] = (greg_t)rbp;
    return context;
}

static int walk_from(const uint64_t *sp, const uint64_t *rbp, int max)
{
    ucontext_t context = interrupted_at(sp, rbp);
    memset(frames, 0xee, sizeof frames);
    end = (enum sp_end)99;
    return sp_walk(&context, frames, max, &end);
}

static void expect_frame(int i, uintptr_t pc, const uint64_t *sp, uint32_t size, enum sp_rule rule)
{
    ck_assert_msg(frames[i].pc == pc, "frame %d: pc %#lx, not %#lx", i, frames[i].pc, pc);
    ck_assert_msg(frames[i].sp == (uintptr_t)sp, "frame %d: sp %#lx, not %p", i, frames[i].sp, (const void *)sp);
    ck_assert_int_eq(frames[i].size, size);
    ck_assert_int_eq(frames[i].rule, rule);
    ck_assert_int_eq(frames[i].interrupted, i == 0);
}

/* leaf <- covered <- plain <- covered <- first */
static uint64_t *lay_mixed_stack(void)
{
    memset(stack, 0, sizeof stack);
    uint64_t *s = stack + 100;
    s[0] = PC(code_covered_return);
    s[1] = WORD;
    s[4] = PC(code_plain_return);
    s[8] = PC(code_covered_return);
    s[9] = WORD;
    s[12] = PC(code_first_return);
    return s;
}

static void expect_mixed_stack(const uint64_t *s)
{
    expect_frame(0, PC(code_leaf), s, 8, SP_RULE_CFI);
    expect_frame(1, PC(code_covered_return), s + 1, 32, SP_RULE_WORD);
    expect_frame(2, PC(code_plain_return), s + 5, 32, SP_RULE_CFI);
    expect_frame(3, PC(code_covered_return), s + 9, 32, SP_RULE_WORD);
    expect_frame(4, PC(code_first_return), s + 13, 0, SP_RULE_CFI);
    ck_assert_int_eq(end, SP_END_OUTERMOST);
}

START_TEST(words_and_cfi_hand_over)
{
    uint64_t *s = lay_mixed_stack();
    /* Again and again: without memory, with it, from it. */
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(walk_from(s, NULL, MOST), 5);
        expect_mixed_stack(s);
    }
}
END_TEST

START_TEST(full_is_not_outermost)
{
    uint64_t *s = lay_mixed_stack();
    for (int i = 0; i < 3; i++)
        for (int max = 1; max <= 4; max++) {
            ck_assert_int_eq(walk_from(s, NULL, max), max);
            ck_assert_int_eq(end, SP_END_FULL);
            ck_assert_int_eq(frames[max - 1].size, max == 1 ? 8 : 32);
            ck_assert_int_eq((unsigned char)((char *)&frames[max])[0], 0xee);
        }
    ck_assert_int_eq(walk_from(s, NULL, 5), 5);
    ck_assert_int_eq(end, SP_END_OUTERMOST);
}
END_TEST

START_TEST(bad_arguments_touch_nothing)
{
    void *pcs[2] = {(void *)1, (void *)2};
    struct sp_frame frame = {.pc = 3};
    enum sp_end reason = (enum sp_end)99;
    ucontext_t context;
    memset(&context, 0, sizeof context);
    ck_assert_int_eq(sp_backtrace(NULL, 2), 0);
    ck_assert_int_eq(sp_backtrace(pcs, 0), 0);
    ck_assert_int_eq(sp_backtrace(pcs, -1), 0);
    ck_assert_int_eq(sp_backtrace_context(NULL, pcs, 2), 0);
    ck_assert_int_eq(sp_backtrace_context(&context, NULL, 2), 0);
    ck_assert_int_eq(sp_backtrace_context(&context, pcs, 0), 0);
    ck_assert_int_eq(sp_backtrace_context(&context, pcs, -1), 0);
    ck_assert_int_eq(sp_walk(NULL, NULL, 2, &reason), 0);
    ck_assert_int_eq(sp_walk(NULL, &frame, 0, &reason), 0);
    ck_assert_int_eq(sp_walk(&context, &frame, -5, &reason), 0);
    ck_assert_ptr_eq(pcs[0], (void *)1);
    ck_assert_ptr_eq(pcs[1], (void *)2);
    ck_assert_int_eq(frame.pc, 3);
    ck_assert_int_eq(reason, 99);
    ck_assert_int_eq(sp_walk(NULL, &frame, 1, NULL), 1);
}
END_TEST

START_TEST(end_names)
{
    ck_assert_str_eq(sp_end_name(SP_END_OUTERMOST), "outermost");
    ck_assert_str_eq(sp_end_name(SP_END_FULL), "full");
    ck_assert_str_eq(sp_end_name(SP_END_NO_RULE), "no rule");
    ck_assert_str_eq(sp_end_name(SP_END_UNREADABLE), "unreadable");
    ck_assert_str_eq(sp_end_name(SP_END_NO_PROGRESS), "no progress");
    ck_assert_str_eq(sp_end_name((enum sp_end)5), "unknown");
    ck_assert_str_eq(sp_end_name((enum sp_end) - 1), "unknown");
}
END_TEST

/* A covered frame without a word in it, whatever else lies there, goes by its CFI. */
static const uint64_t not_words[] = {
    0,                            /* never written */
    UINT64_C(0xFFFFFFFFA5C00000), /* a length of 0 */
    UINT64_C(0x00000000A5C00003), /* no sign extension */
    UINT64_C(0xFFFFFFFFA5D00003), /* another tag */
    UINT64_C(0xFFFFFFFF00000003), /* no tag */
    UINT64_C(0xFFFFFFFFA5D00040), /* the same, as if it were an rbp slot of 16 in a frame that has room for it */
    UINT64_C(0xFFFFFFFFFFFFFFFF), /* minus one */
    UINT64_C(0x7FFF00001000),     /* an argument */
};

START_TEST(what_is_no_word_is_not_followed)
{
    uint64_t *s = lay_mixed_stack();
    s[1] = not_words[_i];
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(walk_from(s, NULL, MOST), 5);
        expect_frame(1, PC(code_covered_return), s + 1, 32, SP_RULE_CFI);
        expect_frame(2, PC(code_plain_return), s + 5, 32, SP_RULE_CFI);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
        s[1 + 100 + i] = 0;
    }
}
END_TEST

/* A word that is stale in a frame that stored none. */
START_TEST(a_word_counts_only_where_code_is_covered)
{
    uint64_t *s = lay_mixed_stack();
    s[5] = UINT64_C(0xFFFFFFFFA5C00007);
    ck_assert_int_eq(walk_from(s, NULL, MOST), 5);
    expect_mixed_stack(s);
}
END_TEST

/* A word with its tag but a wrong length leads astray, inside the stack, to an end that says so. */
START_TEST(a_damaged_length_ends_marked)
{
    static const uint64_t lengths[] = {1, 2, 4, 5, 40, 0x7fff, 0xffff};
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint64_t *s = lay_mixed_stack();
        s[1] = UINT64_C(0xFFFFFFFFA5C00000) | lengths[i];
        int n = walk_from(s, NULL, MOST);
        ck_assert_int_ge(n, 2);
        if (n == 5 && end == SP_END_OUTERMOST)
            expect_frame(2, PC(code_plain_return), s + 5, 32, SP_RULE_CFI);
        else
            ck_assert_int_ne(end, SP_END_OUTERMOST);
    }
}
END_TEST

START_TEST(rbp_is_followed_through_its_saves)
{
    memset(stack, 0, sizeof stack);
    uint64_t *s = stack + 50;
    s[0] = PC(code_rbp_return); /* leaf's */
    /* code_rbp: its sp is s + 1; rbp points at s + 3, the saved rbp of its caller at s + 3. */
    s[3] = (uint64_t)(s + 9);
    s[4] = PC(code_covered_return);
    s[5] = WORD;
    s[8] = PC(code_rbp_return);
    s[9] = 0;
    s[10] = PC(code_first_return);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(walk_from(s, s + 3, MOST), 5);
        expect_frame(1, PC(code_rbp_return), s + 1, 32, SP_RULE_CFI);
        expect_frame(2, PC(code_covered_return), s + 5, 32, SP_RULE_WORD);
        expect_frame(3, PC(code_rbp_return), s + 9, 16, SP_RULE_CFI);
        expect_frame(4, PC(code_first_return), s + 11, 0, SP_RULE_CFI);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
    }
    /* The same saved rbp, but another return address. */
    s[10] = PC(code_plain_return);
    s[14] = PC(code_first_return);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(walk_from(s, s + 3, MOST), 6);
        expect_frame(4, PC(code_plain_return), s + 11, 32, SP_RULE_CFI);
        expect_frame(5, PC(code_first_return), s + 15, 0, SP_RULE_CFI);
    }
    s[10] = PC(code_first_return);
    /* The same return addresses, but another saved rbp: what was remembered must not be believed. */
    s[3] = (uint64_t)(s + 19);
    s[19] = 0;
    s[20] = PC(code_first_return);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(walk_from(s, s + 3, MOST), 5);
        expect_frame(3, PC(code_rbp_return), s + 9, 96, SP_RULE_CFI);
        expect_frame(4, PC(code_first_return), s + 21, 0, SP_RULE_CFI);
    }
}
END_TEST

/* The one frame that saved rbp for those further out is none that does any more, and the rest is as it was. */
START_TEST(an_rbp_that_is_saved_elsewhere_now)
{
    memset(stack, 0, sizeof stack);
    uint64_t *s = stack + 50;
    s[0] = PC(code_rbp_return);
    s[3] = (uint64_t)(s + 11);
    s[4] = PC(code_covered_return);
    s[5] = WORD;
    s[8] = PC(code_rbp_return);
    s[11] = (uint64_t)(s + 19);
    s[12] = PC(code_covered_return);
    s[13] = WORD;
    s[16] = PC(code_rbp_return);
    s[20] = PC(code_first_return);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(walk_from(s, s + 3, MOST), 7);
        expect_frame(6, PC(code_first_return), s + 21, 0, SP_RULE_CFI);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
    }
    s[8] = PC(code_plain_return);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(walk_from(s, s + 3, MOST), 6);
        expect_frame(5, PC(code_rbp_return), s + 17, 0, SP_RULE_NONE);
        ck_assert_int_eq(end, SP_END_NO_PROGRESS);
    }
}
END_TEST

START_TEST(an_rbp_below_sp_makes_no_progress)
{
    memset(stack, 0, sizeof stack);
    uint64_t *s = stack + 50;
    s[0] = PC(code_rbp_return);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(walk_from(s, stack + 20, MOST), 2);
        ck_assert(end == SP_END_NO_PROGRESS || end == SP_END_UNREADABLE);
    }
}
END_TEST

START_TEST(rbx_is_followed_by_a_full_walk)
{
    memset(stack, 0, sizeof stack);
    uint64_t *s = stack + 50;
    s[0] = PC(code_covered_return);
    s[1] = WORD;
    s[4] = PC(code_rbx_return);
    s[7] = 0x1234;
    s[8] = PC(code_first_return);
    ucontext_t context = interrupted_at(s, NULL);
    context.uc_mcontext.gregs[REG_RBX] = (greg_t)(s + 7);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(sp_walk(&context, frames, MOST, &end), 4);
        expect_frame(2, PC(code_rbx_return), s + 5, 32, SP_RULE_CFI);
        expect_frame(3, PC(code_first_return), s + 9, 0, SP_RULE_CFI);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
    }
}
END_TEST

/* In each, the CFA is what one register holds, by an expression: one byte of code a register, in DWARF's order. */
__asm__(".text\n"
        "by_register: .cfi_startproc\n"
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        ".cfi_escape 0x0f, 2, 0x70 + \\number, 0\n hlt\n"
        ".endr\n"
        ".cfi_endproc\n");
extern char by_register[] __asm__("by_register");

START_TEST(each_register_of_a_context)
{
    static const int gregs[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    uint64_t *s = stack + 100;
    memset(stack, 0, sizeof stack);
    s[6] = PC(code_first_return);
    for (int i = 0; i < 16; i++) {
        ucontext_t context = interrupted_at(s, s);
        context.uc_mcontext.gregs[REG_RIP] = (greg_t)(PC(by_register) + (uintptr_t)i);
        context.uc_mcontext.gregs[gregs[i]] = (greg_t)(s + 7);
        int n = sp_walk(&context, frames, MOST, &end);
        if (gregs[i] == REG_RSP) { /* no frame begins at SP that is another's */
            ck_assert_int_eq(n, 1);
            ck_assert_int_eq(end, SP_END_NO_PROGRESS);
            continue;
        }
        ck_assert_int_eq(n, 2);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
        ck_assert_uint_eq(frames[1].pc, PC(code_first_return));
        ck_assert_uint_eq(frames[1].sp, (uintptr_t)(s + 7));
    }
}
END_TEST

/* Of a function that goes by another register than SP, which it may be told by a damaged context. */
START_TEST(a_caller_that_begins_at_sp_is_none)
{
    const struct {
        uintptr_t pc;
        int number;
    } functions[] = {{PC(code_rbx_return), REG_RBX}, {PC(code_rbp_return), REG_RBP}};
    memset(stack, 0, sizeof stack);
    uint64_t *s = stack + 50;
    s[1] = PC(code_first_return);
    for (unsigned i = 0; i < 3 * sizeof functions / sizeof functions[0]; i++) {
        ucontext_t context = interrupted_at(s + 2, NULL);
        context.uc_mcontext.gregs[REG_RIP] = (greg_t)functions[i / 3].pc;
        context.uc_mcontext.gregs[functions[i / 3].number] = (greg_t)s;
        ck_assert_int_eq(sp_walk(&context, frames, MOST, &end), 1);
        ck_assert_int_ne(end, SP_END_OUTERMOST);
        context.uc_mcontext.gregs[REG_RSP] = (greg_t)(s + 1);
        ck_assert_int_eq(sp_walk(&context, frames, MOST, &end), 2);
        ck_assert_int_eq(end, SP_END_OUTERMOST);
    }
}
END_TEST

START_TEST(a_return_address_to_nowhere_has_no_rule)
{
    static const uint64_t nowhere[] = {1, 0x1234, UINT64_C(0x7ffffffff000), UINT64_C(0xffffffffff600000), ~UINT64_C(0)};
    for (unsigned i = 0; i <= sizeof nowhere / sizeof nowhere[0]; i++) {
        uint64_t *s = lay_mixed_stack();
        ck_assert_int_eq(walk_from(s, NULL, MOST), 5);
        /* The last one differs in a bit, that no address has, from one whose rule is known. */
        s[8] = i < sizeof nowhere / sizeof nowhere[0] ? nowhere[i] : PC(code_plain_return) | UINT64_C(1) << 48;
        ck_assert_int_eq(walk_from(s, NULL, MOST), 3);
        expect_frame(2, PC(code_plain_return), s + 5, 0, SP_RULE_NONE);
        ck_assert_int_eq(end, SP_END_NO_RULE);
    }
}
END_TEST

START_TEST(code_that_nothing_describes_has_no_rule)
{
    uint64_t *s = lay_mixed_stack();
    s[8] = PC(code_unknown_return);
    ck_assert_int_eq(walk_from(s, NULL, MOST), 4);
    ck_assert_int_eq(end, SP_END_NO_RULE);
}
END_TEST

/* The last page of a mapping, and nothing after it: each length of stack that is cut off there. */
START_TEST(a_stack_that_is_cut_off_is_unreadable)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    uint64_t *s = lay_mixed_stack();
    for (int words = 0; words <= 12; words++) {
        uint64_t *cut = (uint64_t *)(pages + 4096) - words;
        memcpy(cut, s, (size_t)words * 8);
        errno = 7;
        int n = walk_from(cut, NULL, MOST);
        ck_assert_int_eq(errno, 7);
        ck_assert_int_eq(n, words == 0 ? 1 : words <= 4 ? 2 : words <= 8 ? 3 : 4);
        ck_assert_int_eq(end, SP_END_UNREADABLE);
    }
    munmap(pages, 8192);
}
END_TEST

/* The same of frames that are all left by their words. */
START_TEST(words_that_are_cut_off_are_unreadable)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    for (int words = 1; words <= 40; words++) {
        uint64_t *cut = (uint64_t *)(pages + 4096) - words;
        for (int i = 0; i < words; i++)
            cut[i] = i % 4 == 0 ? PC(code_covered_return) : i % 4 == 1 ? WORD : 0;
        int n = walk_from(cut, NULL, MOST);
        ck_assert_int_eq(n, 2 + (words - 1) / 4);
        ck_assert_int_eq(end, SP_END_UNREADABLE);
        for (int i = 1; i < n; i++)
            ck_assert_uint_eq(frames[i].sp, (uintptr_t)(cut + 4 * i - 3));
    }
    munmap(pages, 8192);
}
END_TEST

/* A page, and behind it one that is mapped or not. */
static uint64_t *map_end_of_page(char **pages)
{
    *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(*pages, MAP_FAILED);
    return (uint64_t *)(*pages + 4096);
}

/* What is remembered of a stack lies where a shorter one in its place has no page: its outermost frame alone does. */
START_TEST(a_stack_in_the_place_of_a_longer_one)
{
    char *pages;
    uint64_t *s = map_end_of_page(&pages) - 7;
    void *pcs[MOST];
    s[0] = PC(code_covered_return);
    s[1] = WORD;
    s[4] = PC(code_covered_return);
    s[5] = WORD;
    s[8] = PC(code_first_return);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(walk_from(s, NULL, MOST), 4);
    ck_assert_int_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    s[6] = PC(code_covered_return);
    ucontext_t context = interrupted_at(s + 6, NULL);
    ck_assert_int_eq(sp_backtrace_context(&context, pcs, MOST), 2);
    ck_assert_int_eq(walk_from(s + 6, NULL, MOST), 2);
    ck_assert_int_eq(end, SP_END_UNREADABLE);
    munmap(pages, 8192);
}
END_TEST

/* The same in a thread that keeps no walk, and knows the outermost frames by one that it has kept. */
START_TEST(a_stack_cut_off_where_no_walk_is_kept)
{
    char *pages;
    uint64_t *s = map_end_of_page(&pages) - 7;
    void *pcs[MOST];
    /* In one of the loops the last walk that is kept is of the whole stack. */
    for (int i = 0; i < _i; i++)
        ck_assert_int_eq(walk_from(lay_mixed_stack(), NULL, MOST), 5);
    for (int i = 0; i < 8; i++) {
        uint64_t *other = lay_mixed_stack() + 16 * i;
        memmove(other, stack + 100, 13 * sizeof *other);
        ck_assert_int_eq(walk_from(other, NULL, MOST), 5);
        s[0] = PC(code_covered_return);
        s[1] = WORD;
        s[4] = PC(code_covered_return);
        s[5] = WORD;
        s[8] = PC(code_first_return);
        ucontext_t context = interrupted_at(s, NULL);
        ck_assert_int_eq(sp_backtrace_context(&context, pcs, MOST), 4);
        ck_assert_int_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
        ck_assert_int_eq(sp_backtrace_context(&context, pcs, MOST), 3);
        ck_assert_int_eq(mprotect(pages + 4096, 4096, PROT_READ | PROT_WRITE), 0);
    }
    munmap(pages, 8192);
}
END_TEST

/* Many frames, all alike: a walk that starts at another is another, and so is one that starts at another pc. */
START_TEST(a_repeated_walk_starts_where_the_last_did)
{
    enum { FRAMES = 30 };
    void *pcs[MOST];
    uint64_t *s = stack + 100;
    memset(stack, 0, sizeof stack);
    for (int i = 0; i < FRAMES; i++) {
        s[4 * i] = PC(code_covered_return);
        s[4 * i + 1] = WORD;
    }
    s[4 * FRAMES] = PC(code_first_return);
    for (int i = 0; i < 40; i++) {
        int from = i / 4 % 2 * 5;
        uintptr_t pc = PC(code_leaf) + (i / 2 % 2 != 0); /* its first instruction takes one byte */
        ucontext_t context = interrupted_at(s + 4 * from, NULL);
        context.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
        ck_assert_int_eq(sp_backtrace_context(&context, pcs, MOST), FRAMES + 2 - from);
        ck_assert_uint_eq((uintptr_t)pcs[0], pc);
    }
}
END_TEST

/* A signal frame that goes back to the code that it was come from, on and on. */
__asm__(".text\n"
        "restorer: movq $15, %rax\n syscall\n");
extern char restorer[] __asm__("restorer");

START_TEST(signal_frames_in_a_circle_make_no_progress)
{
    enum { RIP = 40 + 8 * 16, RSP = 40 + 8 * 15, RBX = 40 + 8 * 11 };
    for (int with_registers = 0; with_registers < 2; with_registers++) {
        memset(stack, 0, sizeof stack);
        uint64_t *s = stack + 100, *at = s;
        ucontext_t context = interrupted_at(s, NULL);
        *at++ = PC(restorer);
        at[RIP / 8] = PC(code_leaf);
        at[RSP / 8] = (uint64_t)s;
        if (with_registers) {
            /* Through a frame whose CFA is in rbx, where the walk is started anew. */
            s[0] = PC(code_rbx_return);
            s[4] = PC(restorer);
            at = s + 5;
            at[RIP / 8] = PC(code_leaf);
            at[RSP / 8] = (uint64_t)s;
            at[RBX / 8] = (uint64_t)(s + 3);
            context.uc_mcontext.gregs[REG_RBX] = (greg_t)(s + 3);
        }
        for (int i = 0; i < 4; i++) {
            ck_assert_int_lt(sp_walk(&context, frames, MOST, &end), MOST);
            ck_assert_int_eq(end, SP_END_NO_PROGRESS);
        }
    }
}
END_TEST

static const uintptr_t wild[] = {
    0, 1, 8, 0xfff, UINT64_C(0x800000000000), ~UINT64_C(0), ~UINT64_C(0) - 7, UINT64_C(0xffff800000000000)};

/* A thread that has walked on stacks other than its own only, each time on another: its walks are not kept any more. */
START_TEST(a_wild_sp_where_no_walk_is_kept)
{
    void *pcs[MOST];
    for (int i = 0; i < 8; i++) {
        uint64_t *s = lay_mixed_stack() + 16 * i;
        memmove(s, stack + 100, 13 * sizeof *s);
        ck_assert_int_eq(walk_from(s, NULL, MOST), 5);
    }
    for (unsigned i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        ucontext_t context = interrupted_at((const uint64_t *)wild[i], NULL);
        ck_assert_int_eq(sp_backtrace_context(&context, pcs, MOST), 1);
    }
}
END_TEST

START_TEST(an_unaligned_or_wild_sp_is_no_fault)
{
    for (unsigned i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        ck_assert_int_eq(walk_from((const uint64_t *)wild[i], NULL, MOST), 1);
        ck_assert(end == SP_END_UNREADABLE || end == SP_END_NO_PROGRESS);
    }
    lay_mixed_stack();
    for (int shift = 1; shift < 8; shift++) {
        ck_assert_int_ge(walk_from((const uint64_t *)((char *)(stack + 100) + shift), NULL, MOST), 1);
        ck_assert_int_ne(end, SP_END_OUTERMOST);
    }
}
END_TEST

/* Each word of the stack with each bit flipped, right after a walk that remembers the whole one. */
START_TEST(a_flipped_bit_is_no_fault)
{
    for (int word = 0; word < 13; word++)
        for (int bit = 0; bit < 64; bit++) {
            uint64_t *s = lay_mixed_stack();
            walk_from(s, NULL, MOST);
            s[word] ^= UINT64_C(1) << bit;
            int n = walk_from(s, NULL, MOST);
            ck_assert_int_ge(n, 1);
            for (int i = 0; i < n; i++)
                ck_assert(frames[i].sp >= (uintptr_t)s);
            /* A word that no frame's rule reads changes nothing; one that is a return address must show. */
            if (word == 0 || word == 4 || word == 8 || word == 12)
                ck_assert(n != 5 || end != SP_END_OUTERMOST || frames[4].pc != PC(code_first_return) ||
                          frames[word / 4 + 1].pc == s[word]);
        }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("array");
    tcase_add_test(tcase, words_and_cfi_hand_over);
    tcase_add_test(tcase, full_is_not_outermost);
    tcase_add_test(tcase, bad_arguments_touch_nothing);
    tcase_add_test(tcase, end_names);
    tcase_add_loop_test(tcase, what_is_no_word_is_not_followed, 0, sizeof not_words / sizeof not_words[0]);
    tcase_add_test(tcase, a_word_counts_only_where_code_is_covered);
    tcase_add_test(tcase, a_damaged_length_ends_marked);
    tcase_add_test(tcase, rbp_is_followed_through_its_saves);
    tcase_add_test(tcase, an_rbp_that_is_saved_elsewhere_now);
    tcase_add_test(tcase, an_rbp_below_sp_makes_no_progress);
    tcase_add_test(tcase, rbx_is_followed_by_a_full_walk);
    tcase_add_test(tcase, each_register_of_a_context);
    tcase_add_test(tcase, a_caller_that_begins_at_sp_is_none);
    tcase_add_test(tcase, a_return_address_to_nowhere_has_no_rule);
    tcase_add_test(tcase, code_that_nothing_describes_has_no_rule);
    tcase_add_test(tcase, a_stack_that_is_cut_off_is_unreadable);
    tcase_add_test(tcase, words_that_are_cut_off_are_unreadable);
    tcase_add_test(tcase, a_stack_in_the_place_of_a_longer_one);
    tcase_add_loop_test(tcase, a_stack_cut_off_where_no_walk_is_kept, 0, 4);
    tcase_add_test(tcase, a_repeated_walk_starts_where_the_last_did);
    tcase_add_test(tcase, signal_frames_in_a_circle_make_no_progress);
    tcase_add_test(tcase, a_wild_sp_where_no_walk_is_kept);
    tcase_add_test(tcase, an_unaligned_or_wild_sp_is_no_fault);
    tcase_add_test(tcase, a_flipped_bit_is_no_fault);
    Suite *suite = suite_create("walk of arrays");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
