/* SPDX-License-Identifier: MIT */
/*
 * How much stack the readers take, measured: they run on a stack that was painted, and what they painted over is
 * counted. The library's own objects are measured, as they are built for it.
 */
#include "../cfi/elf_tables.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "code/code.h"

#define STACK_SIZE 65536
#define PAINT 0xa5
#define STACK_MOST 2048

static struct elf_tables file;
static uint8_t *stack;
static ucontext_t main_context, other_context;
static void (*work)(void);
static unsigned long answers;

static void open_libc(const char *path, void *context)
{
    (void)context;
    if (strstr(path, "/libc.so.6") && file.elf == NULL)
        ck_assert(elf_tables_open(&file, path));
}

static void run_work(void)
{
    work();
}

/* The bytes of stack that a function takes, its own caller's included. */
static size_t measure(void (*function)(void))
{
    memset(stack, PAINT, STACK_SIZE);
    work = function;
    ck_assert_int_eq(getcontext(&other_context), 0);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = STACK_SIZE;
    other_context.uc_link = &main_context;
    makecontext(&other_context, run_work, 0);
    ck_assert_int_eq(swapcontext(&main_context, &other_context), 0);
    size_t untouched = 0;
    while (stack[untouched] == PAINT)
        untouched++;
    return STACK_SIZE - untouched;
}

static void do_nothing(void)
{
    __asm__ volatile("");
}

static bool read_zero(void *context, uintptr_t address, uint64_t *word, unsigned size)
{
    (void)context;
    (void)address;
    (void)size;
    *word = 0;
    return true;
}

static struct sp_cfi_row row;
static struct sp_code_rule rule;
static struct sp_cfi_registers registers;

static void evaluate(uint32_t expression)
{
    const uint64_t initial = 0;
    uint64_t value;
    sp_cfi_evaluate(&file.tables, expression, &registers, &initial, read_zero, NULL, &value, NULL);
}

static void find_rows(void)
{
    for (uintptr_t pc = file.code_lo; pc < file.code_hi; pc += 61) {
        if (sp_cfi_find_row(&file.tables, pc, &row) != SP_CFI_OK)
            continue;
        answers++;
        if (row.cfa.kind == SP_CFA_EXPRESSION)
            evaluate(row.cfa.expression);
        for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
            if (row.rules[i].kind == SP_CFI_EXPRESSION || row.rules[i].kind == SP_CFI_VAL_EXPRESSION)
                evaluate(row.rules[i].expression);
    }
}

/* Without the table, by a scan of the whole section. */
static void scan_rows(void)
{
    struct sp_cfi_tables tables = file.tables;
    tables.hdr_end = tables.hdr + 8;
    answers += sp_cfi_find_row(&tables, file.code_lo + (file.code_hi - file.code_lo) / 2, &row) == SP_CFI_OK;
}

static void read_code(void)
{
    for (uintptr_t pc = file.code_lo; pc < file.code_hi; pc += 61)
        answers += sp_code_find_rule(pc, true, file.code_lo, file.code_hi, &rule) == SP_CODE_OK;
}

static void setup(void)
{
    each_loaded_file(open_libc, NULL);
    ck_assert_ptr_nonnull(file.elf);
    stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(stack, MAP_FAILED);
    registers.known = 0x1ffff;
}

static void check_use(const char *name, void (*function)(void))
{
    size_t base = measure(do_nothing);
    answers = 0;
    size_t used = measure(function) - base;
    printf("%s: %zu bytes of stack, %lu answers\n", name, used, answers);
    fflush(stdout);
    ck_assert_uint_gt(answers, 0);
    ck_assert_uint_le(used, STACK_MOST);
}

START_TEST(rows)
{
    check_use("sp_cfi_find_row, sp_cfi_evaluate", find_rows);
}
END_TEST

START_TEST(rows_without_table)
{
    check_use("sp_cfi_find_row by scan", scan_rows);
}
END_TEST

START_TEST(code)
{
    check_use("sp_code_find_rule", read_code);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack of the readers");
    TCase *tests = tcase_create("stack");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, rows);
    tcase_add_test(tests, rows_without_table);
    tcase_add_test(tests, code);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
