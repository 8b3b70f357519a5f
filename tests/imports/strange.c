/* SPDX-License-Identifier: MIT */
/* strange HOW: calls target_plain in an unusual place. Prints "target_plain COUNT" of this process and its children. */
#include "target.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static long expected;
static ucontext_t before, within;

__attribute__((noinline)) static void call(void)
{
    target_plain();
    __asm__ volatile(""); /* not a tail call */
}

static void handle(int number)
{
    (void)number;
    call();
}

static void coroutine(void)
{
    call();
    swapcontext(&within, &before);
}

static int call_in_clone(void *argument)
{
    (void)argument;
    call();
    return 0;
}

static void *call_in_thread(void *argument)
{
    call();
    return argument;
}

static void forks(int count)
{
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            call();
            _exit(0);
        }
        wait(NULL);
    }
    expected += count;
}

static void clones(void)
{
    char *stack = malloc(1 << 16);
    waitpid(clone(call_in_clone, stack + (1 << 16), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), NULL, 0);
    waitpid(clone(call_in_clone, stack + (1 << 16), SIGCHLD, NULL), NULL, 0);
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        call();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    expected += 3;
}

static void vforks(void)
{
    for (int i = 0; i < 50; i++) {
        pid_t child = vfork();
        if (child == 0) {
            call();
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        waitpid(child, NULL, 0);
    }
    expected += 50;
}

/* Memory below a stack that may not be written. */
static char *guarded(size_t size)
{
    char *memory = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory, 4096, PROT_NONE);
    return memory + 4096;
}

static void on_small_stack(size_t size)
{
    getcontext(&within);
    within.uc_stack.ss_sp = guarded(size);
    within.uc_stack.ss_size = size;
    makecontext(&within, coroutine, 0);
    swapcontext(&before, &within);
    expected++;
}

static void in_handler(size_t size)
{
    size = (size + 4095) & -4096ul;
    stack_t stack = {.ss_sp = guarded(size), .ss_size = size};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    expected++;
}

static void in_small_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    pthread_create(&thread, &attributes, call_in_thread, NULL);
    pthread_join(thread, NULL);
    expected++;
}

__attribute__((noinline)) static int deep(int depth)
{
    if (depth == 0)
        call();
    else
        deep(depth - 1);
    __asm__ volatile("");
    return depth;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "forks") == 0)
        forks(1500);
    else if (strcmp(how, "clones") == 0)
        clones();
    else if (strcmp(how, "vforks") == 0)
        vforks();
    else if (strcmp(how, "coroutine") == 0)
        on_small_stack(4096);
    else if (strcmp(how, "alternate stack") == 0)
        in_handler((size_t)sysconf(_SC_MINSIGSTKSZ) + 4096);
    else if (strcmp(how, "small thread") == 0)
        in_small_thread();
    else if (strcmp(how, "deep") == 0)
        expected += deep(1000) / 1000;
    printf("target_plain %ld\n", expected);
    return 0;
}
