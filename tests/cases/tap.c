/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int cases, failed;

void tap_case(const char *name, void (*run)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        run();
        fflush(stdout);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    bool is_ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (WIFSIGNALED(status))
        printf("# killed by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    failed += !is_ok;
    printf("%s %d - %s\n", is_ok ? "ok" : "not ok", ++cases, name);
}

void tap_skip(const char *name, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++cases, name, why);
}

int tap_end(void)
{
    printf("1..%d\n", cases);
    return failed != 0;
}

void tap_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("# %s:%d: ", file, line);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
    _exit(1);
}
