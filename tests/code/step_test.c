/* SPDX-License-Identifier: MIT */
/*
 * Real code, run instruction by instruction with the trap flag. At each the truth is known: from the call that made the
 * frame, its return address, its CFA and what the callee-saved registers were. What reading the code ahead says must be
 * that, as for the interrupted pc and, at each call, as for the caller's return address; and what an instruction is
 * said to do must be what it did.
 *
 * Own functions without call frame information, crt's _init and _fini and code made at run time must all be told; in
 * libc and libcrypto it may also be unknown.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "code/code.h"
#include "code/machine.h"

#define DEPTH_MOST 1024
#define SEGMENTS_MOST 64
#define TRAP_FLAG 0x100

extern const char functions_begin[], functions_end[];
extern void _init(void), _fini(void);

/* By numbers in instructions. */
static const int greg_of[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
static const uint8_t callee_saved[] = {SP_HW_RBX, SP_HW_RBP, 12, 13, 14, 15};
static const uint8_t dwarf[] = {SP_CFI_RBX, SP_CFI_RBP, 12, 13, 14, 15};

struct registers {
    uint64_t value[16];
    uintptr_t pc;
};

struct frame {
    uintptr_t cfa;
    uint64_t return_address;
    struct registers entry;
};

struct segment {
    uintptr_t lo, hi;
};

static struct segment segments[SEGMENTS_MOST];
static unsigned segment_count;
static struct frame frames[DEPTH_MOST];
static unsigned depth;
static struct registers last;
static bool have_last;
static struct sp_instruction last_instruction;
static uintptr_t own_lo, own_hi; /* where every answer must be there */

static unsigned long steps, told, unknown, wrong, doubtful, own_unknown, effects_wrong;
static char first_wrong[256];

static const struct segment *segment_of(uintptr_t pc)
{
    for (unsigned i = 0; i < segment_count; i++)
        if (pc >= segments[i].lo && pc < segments[i].hi)
            return &segments[i];
    return NULL;
}

/* Hidden from sanitizers: the C library's own code reads whole words where strings end within one. */
static uint64_t load(uintptr_t address)
{
    uint64_t word;
    __asm__ volatile("movq (%1), %0" : "=r"(word) : "r"(address));
    return word;
}

static void note(unsigned long *count, const char *what, uintptr_t pc)
{
    if ((*count)++ == 0 && first_wrong[0] == '\0') {
        Dl_info info = {0};
        dladdr((void *)pc, &info);
        snprintf(first_wrong, sizeof first_wrong, "%s at %#lx in %s (%s)", what,
                 (unsigned long)(pc - (uintptr_t)info.dli_fbase), info.dli_fname ? info.dli_fname : "?",
                 info.dli_sname ? info.dli_sname : "?");
    }
}

/* Whether a rule, with the registers as they are, gives a frame. */
static bool gives_frame(const struct sp_code_rule *rule, const struct registers *now, const struct frame *frame)
{
    uintptr_t cfa = now->value[rule->row.cfa.register_number == SP_CFI_RSP ? SP_HW_RSP : SP_HW_RBP] +
                    (uintptr_t)(intptr_t)rule->row.cfa.offset;
    if (cfa != frame->cfa || load(cfa - 8) != frame->return_address)
        return false;
    for (unsigned i = 0; i < sizeof callee_saved; i++) {
        const struct sp_cfi_rule *saved = &rule->row.rules[dwarf[i]];
        uint64_t entry = frame->entry.value[callee_saved[i]];
        if ((saved->kind == SP_CFI_SAME && now->value[callee_saved[i]] != entry) ||
            (saved->kind == SP_CFI_OFFSET && load(cfa + (uintptr_t)(intptr_t)saved->offset) != entry))
            return false;
    }
    return true;
}

/* Whether what the rule gives would stand the checks that it asks for. */
static bool stands_checks(const struct sp_code_rule *rule, const struct registers *now)
{
    uintptr_t cfa = now->value[rule->row.cfa.register_number == SP_CFI_RSP ? SP_HW_RSP : SP_HW_RBP] +
                    (uintptr_t)(intptr_t)rule->row.cfa.offset;
    return !rule->aligned_only || cfa % 16 == 0;
}

static void check_rule(uintptr_t pc, bool interrupted, const struct registers *now, const struct frame *frame)
{
    const struct segment *segment = segment_of(pc);
    struct sp_code_rule rule;
    if (segment == NULL)
        return;
    if (sp_code_find_rule(pc, interrupted, segment->lo, segment->hi, &rule) != SP_CODE_OK ||
        !stands_checks(&rule, now)) {
        unknown++;
        if (pc >= own_lo && pc < own_hi)
            note(&own_unknown, "no answer", pc);
    } else if (gives_frame(&rule, now, frame)) {
        told++;
    } else if (rule.past_call) {
        doubtful++;
    } else {
        note(&wrong, "a wrong answer", pc);
    }
}

/* What one instruction did, against what it is said to do. */
static bool did_as_said(const struct sp_instruction *instruction, const struct registers *before,
                        const struct registers *after)
{
    uintptr_t next = before->pc + instruction->length;
    int64_t moved = (int64_t)(after->value[SP_HW_RSP] - before->value[SP_HW_RSP]);
    switch (instruction->operation) {
    case SP_STOP:
    case SP_SYSCALL: /* the trap comes only after the next instruction */
        return true;
    case SP_RETURN:
        return moved == 8 && after->pc == load(before->value[SP_HW_RSP]);
    case SP_CALL:
        return moved == -8 && load(after->value[SP_HW_RSP]) == next &&
               (instruction->target == 0 || after->pc == instruction->target);
    case SP_CALL_SLOT:
        return moved == -8 && load(after->value[SP_HW_RSP]) == next && after->pc == load(instruction->target);
    case SP_JUMP_AWAY:
        return moved == 0 && (instruction->source == SP_HW_NONE || after->pc == before->value[instruction->source]);
    case SP_JUMP:
        return moved == 0 && after->pc == instruction->target;
    case SP_JUMP_SLOT:
        return moved == 0 && after->pc == load(instruction->target);
    case SP_BRANCH:
        return moved == 0 && (after->pc == instruction->target || after->pc == next);
    default:
        break;
    }
    struct sp_machine machine;
    sp_machine_enter(&machine);
    sp_machine_execute(&machine, instruction);
    for (unsigned i = 0; i < 16; i++) {
        struct sp_value value = machine.registers[i];
        uint64_t expected = (uint64_t)(int64_t)value.offset;
        if (value.origin == SP_ORIGIN_UNKNOWN || value.origin == SP_ORIGIN_FIXED)
            continue;
        if (value.origin <= 15)
            expected += before->value[value.origin];
        else if (value.origin == SP_ORIGIN_RSP_SLOT)
            expected = load(before->value[SP_HW_RSP] + expected);
        else if (value.origin == SP_ORIGIN_RBP_SLOT)
            expected = load(before->value[SP_HW_RBP] + expected);
        if (after->value[i] != expected)
            return false;
    }
    return after->pc == next || after->pc == before->pc; /* one of a repeated string instruction's steps */
}

static void enter_frame(const struct registers *now)
{
    if (depth < DEPTH_MOST)
        frames[depth] = (struct frame){
            .cfa = now->value[SP_HW_RSP] + 8, .return_address = load(now->value[SP_HW_RSP]), .entry = *now};
    depth++;
}

static void on_trap(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    const greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct registers now = {.pc = (uintptr_t)gregs[REG_RIP]};
    for (unsigned i = 0; i < 16; i++)
        now.value[i] = (uint64_t)gregs[greg_of[i]];
    steps++;

    if (have_last) {
        if (!did_as_said(&last_instruction, &last, &now))
            note(&effects_wrong, "another effect", last.pc);
        if (last_instruction.operation == SP_CALL || last_instruction.operation == SP_CALL_SLOT) {
            if (depth > 0 && depth <= DEPTH_MOST) {
                struct registers at_return = now; /* in the caller's view */
                at_return.value[SP_HW_RSP] += 8;
                check_rule(load(now.value[SP_HW_RSP]), false, &at_return, &frames[depth - 1]);
            }
            enter_frame(&now);
        } else if (last_instruction.operation == SP_RETURN && depth > 0) {
            depth--;
        }
    }
    if (depth > 0 && depth <= DEPTH_MOST)
        check_rule(now.pc, true, &now, &frames[depth - 1]);

    const struct segment *segment = segment_of(now.pc);
    have_last = segment != NULL && sp_instruction_read(now.pc, segment->hi, &last_instruction);
    last = now;
}

static int add_segments(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (unsigned i = 0; i < info->dlpi_phnum && segment_count < SEGMENTS_MOST; i++) {
        const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
        if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X)
            segments[segment_count++] =
                (struct segment){info->dlpi_addr + phdr->p_vaddr, info->dlpi_addr + phdr->p_vaddr + phdr->p_memsz};
    }
    return 0;
}

static void set_trap_flag(bool on)
{
    uint64_t flags;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tpop %0\n\tlea 128(%%rsp), %%rsp" : "=r"(flags));
    flags = on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG;
    if (on) {
        depth = 0;
        have_last = false;
    }
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %0\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
                     :
                     : "r"(flags)
                     : "cc", "memory");
}

static void setup(void)
{
    dl_iterate_phdr(add_segments, NULL);
    static uint8_t stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    ck_assert_int_eq(sigaltstack(&alternate, NULL), 0);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
}

static void report(const char *what)
{
    printf("%s: %lu steps, %lu told, %lu unknown, %lu wrong past calls, %lu wrong; %lu effects wrong\n", what, steps,
           told, unknown, doubtful, wrong, effects_wrong);
    fflush(stdout);
    ck_assert_msg(wrong == 0 && effects_wrong == 0 && own_unknown == 0, "%s", first_wrong);
    ck_assert_uint_gt(told, 0);
}

static uint64_t step(uint64_t (*function)(uint64_t), uint64_t argument)
{
    set_trap_flag(true);
    uint64_t result = function(argument);
    set_trap_flag(false);
    return result;
}

uint64_t plain_leaf(uint64_t), aligned_call(uint64_t), endbr_and_pushes(uint64_t), frame_pointer(uint64_t),
    leave_after_alloca(uint64_t), saved_by_moves(uint64_t), wrapped(uint64_t), jumps(uint64_t),
    unaligned_call(uint64_t), stack_arguments(uint64_t), system_call(uint64_t), ends_with_call(uint64_t),
    after_that(uint64_t), vectors(uint64_t);

START_TEST(own_functions)
{
    own_lo = (uintptr_t)functions_begin;
    own_hi = (uintptr_t)functions_end;
    ck_assert_uint_eq(step(plain_leaf, 7), 8);
    ck_assert_uint_eq(step(aligned_call, 7), 8);
    ck_assert_uint_eq(step(endbr_and_pushes, 7), 16);
    ck_assert_uint_eq(step(frame_pointer, 7), 8);
    ck_assert_uint_eq(step(leave_after_alloca, 0x77), 0x78);
    ck_assert_uint_eq(step(saved_by_moves, 7), 7 * 7 + 7);
    ck_assert_uint_eq(step(wrapped, 3), 3);
    ck_assert_uint_eq(step(wrapped, 2), 5);
    ck_assert_uint_eq(step(wrapped, 8), 1);
    ck_assert_uint_eq(step(jumps, 7), 8);
    ck_assert_uint_eq(step(jumps, 700), 701);
    ck_assert_uint_eq(step(unaligned_call, 7), 8);
    ck_assert_uint_eq(step(stack_arguments, 7), 8);
    ck_assert_uint_eq(step(system_call, 7), 7);
    ck_assert_uint_eq(step(ends_with_call, 7), 8);
    ck_assert_uint_eq(step(after_that, 7), 14);
    ck_assert_uint_eq(step(vectors, 7), 7);
    report("own functions");
    ck_assert_uint_eq(doubtful, 0);
}
END_TEST

/* crt's own, which are in the .init and .fini sections. */
START_TEST(crt)
{
    own_lo = (uintptr_t)_init;
    own_hi = own_lo + 32;
    set_trap_flag(true);
    _init();
    set_trap_flag(false);
    report("_init");
    own_lo = (uintptr_t)_fini;
    own_hi = own_lo + 32;
    set_trap_flag(true);
    _fini();
    set_trap_flag(false);
    report("_fini");
}
END_TEST

/* push %rbx; mov %rdi, %rbx; mov $..., %rax; call *%rax; add %rbx, %rax; pop %rbx; ret */
START_TEST(made_at_run_time)
{
    uint8_t code[] = {0x53, 0x48, 0x89, 0xfb, 0x48, 0xb8, 0,    0,    0,    0,   0,
                      0,    0,    0,    0xff, 0xd0, 0x48, 0x01, 0xd8, 0x5b, 0xc3};
    uintptr_t callee = (uintptr_t)plain_leaf;
    memcpy(code + 6, &callee, sizeof callee);
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    memcpy(page, code, sizeof code);
    segments[segment_count++] = (struct segment){(uintptr_t)page, (uintptr_t)page + sizeof code};
    own_lo = (uintptr_t)page;
    own_hi = own_lo + sizeof code;
    ck_assert_uint_eq(step((uint64_t(*)(uint64_t))(uintptr_t)page, 7), 15);
    report("code made at run time");
}
END_TEST

static int compare_ints(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static uint64_t use_libc(uint64_t seed)
{
    int numbers[64];
    char text[256];
    for (unsigned i = 0; i < 64; i++)
        numbers[i] = (int)(seed = seed * 6364136223846793005u + 1) >> 3;
    qsort(numbers, 64, sizeof numbers[0], compare_ints);
    snprintf(text, sizeof text, "%d %s %.17g %lx", numbers[0], "text", 0.1 * numbers[1], (unsigned long)seed);
    char *memory = malloc(1000);
    uint64_t result = (uint64_t)strtod(text, NULL) + strlen(text) + (strstr(text, "text") != NULL);
    free(memory);
    return result;
}

START_TEST(libc)
{
    step(use_libc, 1);
    report("libc");
    ck_assert_uint_gt(told, steps / 3);
}
END_TEST

typedef unsigned char *digest(const unsigned char *data, size_t size, unsigned char *md);
static digest *sha1, *sha256, *sha512;

static uint64_t use_digests(uint64_t seed)
{
    unsigned char data[300], md[64];
    memset(data, (int)seed, sizeof data);
    sha1(data, sizeof data, md);
    sha256(data, sizeof data, md);
    sha512(data, sizeof data, md);
    return md[0];
}

START_TEST(libcrypto)
{
    void *library = dlopen("libcrypto.so.3", RTLD_NOW);
    ck_assert_msg(library != NULL, "%s (Debian: apt-get install libssl3)", dlerror());
    sha1 = (digest *)(uintptr_t)dlsym(library, "SHA1");
    sha256 = (digest *)(uintptr_t)dlsym(library, "SHA256");
    sha512 = (digest *)(uintptr_t)dlsym(library, "SHA512");
    ck_assert(sha1 && sha256 && sha512);
    use_digests(1); /* what it sets up at first is left out: it is long */
    segment_count = 0;
    dl_iterate_phdr(add_segments, NULL);
    step(use_digests, 1);
    report("libcrypto");
}
END_TEST

/* Under AddressSanitizer what libc's names lead to is its allocator and its checks, millions of steps. */
#ifdef __SANITIZE_ADDRESS__
enum { STEPS_LIBC = 0 };
#else
enum { STEPS_LIBC = 1 };
#endif

int main(void)
{
    Suite *suite = suite_create("code, step by step");
    TCase *tests = tcase_create("step");
    tcase_set_timeout(tests, 0); /* the limit of the build file holds: it grows under sanitizers */
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, own_functions);
    tcase_add_test(tests, crt);
    tcase_add_test(tests, made_at_run_time);
    if (STEPS_LIBC)
        tcase_add_test(tests, libc);
    tcase_add_test(tests, libcrypto);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
