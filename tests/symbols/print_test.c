/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spwalk.h>
#include <spwalk_symbols.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static char text[100000];

/* What is written to fd; a file, as a pipe may be too small. */
static int open_file(void)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    return fileno(file);
}

static void read_file(int fd)
{
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    ck_assert_int_ge(length, 0);
    text[length] = '\0';
}

static int count_lines(void)
{
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    return lines;
}

/* In the program's .dynsym, which is linked with --export-dynamic. */
__attribute__((noinline)) int print_test_recurse(int depth, int fd)
{
    int result = depth == 0 ? sp_print_backtrace(fd) : print_test_recurse(depth - 1, fd);
    __asm__ volatile("" ::: "memory");
    return result;
}

START_TEST(shallow)
{
    int fd = open_file();
    errno = EDOM;
    int count = print_test_recurse(3, fd);
    ck_assert_int_eq(errno, EDOM);
    read_file(fd);
    ck_assert_int_eq(count_lines(), count);
    int named = 0;
    for (const char *at = text; (at = strstr(at, "  print_test_recurse+0x")) != NULL; at++)
        named++;
    ck_assert_int_eq(named, 4);
    ck_assert_ptr_null(strstr(text, "sp_print_backtrace"));
    ck_assert_ptr_null(strstr(text, "the stack goes on"));
}
END_TEST

/* Deeper than what is kept on the stack: the innermost and outermost frames, and how many are between. */
START_TEST(deep)
{
    int fd = open_file();
    int count = print_test_recurse(5000, fd);
    ck_assert_int_gt(count, 5000);
    read_file(fd);
    ck_assert_int_eq(count_lines(), 192 + 64 + 1);
    char gap[64], last[16];
    snprintf(gap, sizeof gap, "... %d frames are left out ...", count - 192 - 64);
    snprintf(last, sizeof last, "\n#%d ", count - 1);
    ck_assert_ptr_nonnull(strstr(text, gap));
    ck_assert_ptr_nonnull(strstr(text, last));
    ck_assert_ptr_nonnull(strstr(text, "  main+0x"));
}
END_TEST

START_TEST(bad_descriptor)
{
    errno = EDOM;
    ck_assert_int_eq(sp_print_backtrace(-1), -1);
    ck_assert_int_eq(errno, EDOM);
}
END_TEST

static int handler_fd;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    sp_print_backtrace_context(context, handler_fd);
}

__attribute__((noinline)) void print_test_interrupted(void)
{
    raise(SIGUSR1);
    __asm__ volatile("" ::: "memory");
}

START_TEST(in_a_handler)
{
    handler_fd = open_file();
    sigaction(SIGUSR1, &(struct sigaction){.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, NULL);
    print_test_interrupted();
    read_file(handler_fd);
    ck_assert_ptr_nonnull(strstr(text, "  raise+0x"));
    ck_assert_ptr_nonnull(strstr(text, "  print_test_interrupted+0x"));
}
END_TEST

START_TEST(symbols_of_addresses)
{
    void *pcs[] = {(char *)print_test_recurse + 4, NULL, (void *)text};
    char **names = sp_backtrace_symbols(pcs, 3);
    ck_assert_ptr_nonnull(strstr(names[0], "(print_test_recurse+0x4) [0x"));
    ck_assert_str_eq(names[1], "[0x0]");
    ck_assert_ptr_nonnull(strstr(names[2], "(+0x"));
    free(names);
    ck_assert_ptr_null(sp_backtrace_symbols(pcs, -1));
    free(sp_backtrace_symbols(NULL, 0));
    int fd = open_file();
    sp_backtrace_symbols_fd(pcs, 3, fd);
    sp_backtrace_symbols_fd(NULL, 3, fd);
    read_file(fd);
    ck_assert_int_eq(count_lines(), 3);
    ck_assert_ptr_nonnull(strstr(text, "(print_test_recurse+0x4) [0x"));
    ck_assert_ptr_nonnull(strstr(text, "\n[0x0]\n"));
}
END_TEST

static bool interrupted_seen;

static void name_in_handler(int number)
{
    (void)number;
    void *pcs[64];
    int count = sp_backtrace(pcs, 64);
    char **names = sp_backtrace_symbols(pcs, count);
    for (int i = 0; i < count; i++)
        interrupted_seen |= strstr(names[i], "(print_test_fault+0x0)") != NULL;
    free(names);
}

__asm__(".text\n.globl print_test_fault\n.type print_test_fault, @function\nprint_test_fault:\n"
        ".cfi_startproc\nud2\nret\n.cfi_endproc\n.size print_test_fault, .-print_test_fault\n");
void print_test_fault(void);

static void step_over(int number, siginfo_t *info, void *context)
{
    (void)info;
    name_in_handler(number);
    sp_print_backtrace_context(context, handler_fd);
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

/* The first instruction of a function was interrupted: the one before it belongs to another function. */
START_TEST(first_instruction)
{
    sigaction(SIGILL, &(struct sigaction){.sa_sigaction = step_over, .sa_flags = SA_SIGINFO}, NULL);
    interrupted_seen = false;
    handler_fd = open_file();
    print_test_fault();
    ck_assert(interrupted_seen);
    read_file(handler_fd);
    ck_assert_ptr_nonnull(strstr(text, "  print_test_fault+0x0\n"));
}
END_TEST

Suite *print_suite(void)
{
    Suite *suite = suite_create("print");
    TCase *tests = tcase_create("print");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, shallow);
    tcase_add_test(tests, deep);
    tcase_add_test(tests, bad_descriptor);
    tcase_add_test(tests, in_a_handler);
    tcase_add_test(tests, symbols_of_addresses);
    tcase_add_test(tests, first_instruction);
    suite_add_tcase(suite, tests);
    return suite;
}
