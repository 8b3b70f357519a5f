/* SPDX-License-Identifier: MIT */
/* edges CASE: what programs seldom do. */
#define _GNU_SOURCE
#include <spwalk_leaks.h>

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

__attribute__((noinline)) static void *leak(size_t size)
{
    char *block = malloc(size);
    sink = block;
    sink = NULL;
    return block;
}

__attribute__((noinline)) static void clear_stack(void)
{
    char bytes[16384];
    memset(bytes, 0, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

__attribute__((noinline)) static void leak_content(void)
{
    static const unsigned char content[] = {0xab, 0xcd, 0xef, 0x01, 0xff};
    memcpy(leak(sizeof content), content, sizeof content);
}

static void end_by_vfork(void)
{
    leak(30);
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    leak(40);
    printf("%d\n", (int)getpid());
}

static ssize_t end_in_write(void *cookie, const char *bytes, size_t size)
{
    (void)cookie, (void)bytes, (void)size;
    _exit(9);
}

/* The C library writes what is left in the stream at the very end. */
static void end_in_flush(void)
{
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = end_in_write});
    fputs("text", stream);
    leak(70);
}

static int let_through(const struct sp_leaks_summary *summary, void *argument)
{
    (void)summary, (void)argument;
    return 0;
}

static int refuse(const struct sp_leaks_summary *summary, void *argument)
{
    (void)summary, (void)argument;
    return 1;
}

static _Atomic int is_reporting, has_forked;

static int wait_for_fork(const struct sp_leaks_summary *summary, void *argument)
{
    (void)summary, (void)argument;
    for (is_reporting = 1; !has_forked;)
        usleep(1000);
    return 0;
}

static void *report(void *unused)
{
    sp_leaks_report();
    return unused;
}

/* In the child there is no thread that reports. */
static void fork_while_reporting(void)
{
    pthread_t thread;
    sp_leaks_set_hook(wait_for_fork, NULL);
    pthread_create(&thread, NULL, report, NULL);
    while (!is_reporting)
        usleep(1000);
    pid_t child = fork();
    has_forked = 1;
    if (child == 0) {
        leak(50);
        clear_stack();
        exit(0);
    }
    waitpid(child, NULL, 0);
    pthread_join(thread, NULL);
}

static __thread void *of_thread;

static void *leave_pointers(void *unused)
{
    void *volatile on_stack[16];
    of_thread = malloc(60);
    for (int i = 0; i < 16; i++)
        on_stack[i] = of_thread;
    return unused;
}

/* The C library keeps the thread's stack, as it was, for the next one. */
static void end_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, leave_pointers, NULL);
    pthread_join(thread, NULL);
}

static pthread_barrier_t barrier;

static void *hear_nothing(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
    return unused;
}

static void start_deaf_thread(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hear_nothing, NULL);
    pthread_barrier_wait(&barrier);
}

/* Counts whose product has more than 64 bits, and is 16 without the upper ones. */
static void ask_for_too_much(void)
{
    const size_t count = ((size_t)1 << 60) + 1;
    char *block = malloc(20);
    strcpy(block, "unchanged");
    errno = 0;
    void *volatile more = reallocarray(block, count, 16);
    printf("%d %d %s, ", more == NULL, errno == ENOMEM, block);
    errno = 0;
    more = calloc(count, 16);
    printf("%d %d\n", more == NULL, errno == ENOMEM);
    free(block);
}

/* Behind the environment, where the kernel put it, as some look for it. */
static void show_page_size(char **environment)
{
    while (*environment != NULL)
        environment++;
    for (const Elf64_auxv_t *item = (const Elf64_auxv_t *)(environment + 1); item->a_type != AT_NULL; item++)
        if (item->a_type == AT_PAGESZ)
            printf("page %d\n", (int)item->a_un.a_val);
}

int main(int argc, char **argv, char **environment)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "content") == 0)
        leak_content();
    else if (strcmp(name, "vfork") == 0)
        end_by_vfork();
    else if (strcmp(name, "flush") == 0)
        end_in_flush();
    else if (strcmp(name, "let through") == 0)
        sp_leaks_set_hook(let_through, NULL);
    else if (strcmp(name, "refuse") == 0)
        sp_leaks_set_hook(refuse, NULL);
    else if (strcmp(name, "fork") == 0)
        fork_while_reporting();
    else if (strcmp(name, "ended") == 0)
        end_thread();
    else if (strcmp(name, "deaf") == 0)
        start_deaf_thread();
    else if (strcmp(name, "too much") == 0)
        ask_for_too_much();
    else if (strcmp(name, "environment") == 0)
        show_page_size(environment);
    clear_stack();
    return 7;
}
