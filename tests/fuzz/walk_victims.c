/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "walk_victims.h"

#include <alloca.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define STACK_SIZE 131072

struct victim victims[VICTIMS];

static sem_t waiting;
static __thread struct victim *self;

typedef int function(int n, int (*next)(int));
function frame_word, frame_word_rbp, frame_plain, frame_rbp, frame_rbx, frame_expression, frame_bare;

/* The context stays true: this frame does not change any more. */
static NOINLINE int stay(int n)
{
    getcontext(&self->context);
    sem_post(&waiting);
    for (;;)
        pause();
    return n;
}

/* Which functions call each other, outermost first. */
static const struct {
    const char *frames; /* a letter each */
} plans[VICTIMS] = {
    [VICTIM_WORDS] = {"wwppwrwRRwbwpRbwwwp"},
    [VICTIM_MIXED] = {"waRqbwnwsRqapwnww"},
    [VICTIM_FULL] = {"wxwRewpxewqwwsxw"},
};

static __thread const char *plan;

static NOINLINE int go_on(int n);

static NOINLINE int with_alloca(int n)
{
    _Alignas(64) volatile char aligned[64];
    volatile char *block = alloca((size_t)n * 16 + 16);
    block[0] = aligned[0] = (char)n;
    return go_on(n) + block[0];
}

static int compare(const void *a, const void *b)
{
    (void)b;
    return go_on(*(const int *)a);
}

static void handle(int number)
{
    go_on(number);
}

static NOINLINE int through_qsort(int n)
{
    int values[3] = {n, n + 1, n + 2};
    qsort(values, 3, sizeof values[0], compare);
    return values[0];
}

static NOINLINE int go_on(int n)
{
    switch (*plan++) {
    case 'w':
        return frame_word(n, go_on) + 1;
    case 'b':
        return frame_word_rbp(n, go_on) + 1;
    case 'p':
        return frame_plain(n, go_on) + 1;
    case 'r':
    case 'R':
        return frame_rbp(n, go_on) + 1;
    case 'x':
        return frame_rbx(n, go_on) + 1;
    case 'e':
        return frame_expression(n, go_on) + 1;
    case 'n':
        return frame_bare(n, go_on) + 1;
    case 'a':
        return with_alloca(n) + 1;
    case 'q':
        return through_qsort(n) + 1;
    case 's':
        raise(SIGUSR1);
        return 1;
    default:
        return stay(n) + 1;
    }
}

static void *run(void *data)
{
    self = data;
    plan = plans[self - victims].frames;
    __asm__("movq %%fs:0, %0" : "=r"(self->control));
    go_on(1);
    return NULL;
}

static void start(struct victim *victim)
{
    char *pages = mmap(NULL, STACK_SIZE + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + 4096, STACK_SIZE, PROT_READ | PROT_WRITE) != 0)
        abort();
    victim->lo = (uintptr_t)pages + 4096;
    victim->hi = victim->lo + STACK_SIZE;
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, pages + 4096, STACK_SIZE) != 0 ||
        pthread_create(&thread, &attributes, run, victim) != 0)
        abort();
    pthread_attr_destroy(&attributes);
    while (sem_wait(&waiting) != 0)
        continue;
}

void victims_start(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_NODEFER}, before;
    sem_init(&waiting, 0, 0);
    sigaction(SIGUSR1, &action, &before);
    for (unsigned i = 0; i < VICTIMS; i++)
        start(&victims[i]);
    sigaction(SIGUSR1, &before, NULL);
}
