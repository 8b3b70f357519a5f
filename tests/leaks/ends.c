/* SPDX-License-Identifier: MIT */
/* ends CASE: leaks 70 bytes and ends in one of the ways a program can end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline)) static void leak(void)
{
    sink = malloc(70);
    sink = NULL;
}

/* Overwrites what earlier calls left on the stack. */
__attribute__((noinline)) static void clear_stack(void)
{
    char bytes[16384];
    memset(bytes, 0, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

static void *exit_here(void *unused)
{
    clear_stack();
    exit(9);
    return unused;
}

static void *wait_forever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void exit_by_handler(int number)
{
    (void)number;
    _exit(9);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    pthread_t thread;
    leak();
    clear_stack();
    if (strcmp(name, "abort") == 0)
        abort();
    else if (strcmp(name, "segv") == 0)
        *(volatile int *)8 = 1;
    else if (strcmp(name, "term") == 0)
        raise(SIGTERM);
    else if (strcmp(name, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(name, "reported") == 0) {
        raise(SIGUSR2);
        raise(SIGKILL);
    } else if (strcmp(name, "system call") == 0)
        syscall(SYS_exit_group, 9);
    else if (strcmp(name, "_exit") == 0)
        _exit(9);
    else if (strcmp(name, "_Exit") == 0)
        _Exit(9);
    else if (strcmp(name, "quick_exit") == 0)
        quick_exit(9);
    else if (strcmp(name, "handler") == 0) {
        signal(SIGTERM, exit_by_handler);
        raise(SIGTERM);
    } else if (strcmp(name, "thread") == 0) {
        pthread_create(&thread, NULL, exit_here, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(name, "running") == 0)
        pthread_create(&thread, NULL, wait_forever, NULL);
    else if (strcmp(name, "pthread_exit") == 0)
        pthread_exit(NULL);
    return 9;
}
