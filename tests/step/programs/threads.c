/* SPDX-License-Identifier: MIT */
/* step: libs=-pthread */
/* Threads: their first frames, stacks of the program's own, cancellation, and threads that end inside a call. */
#include "program.h"

#include <pthread.h>

static __thread int mine;

static NOINLINE void *count(void *data)
{
    int n = (int)(intptr_t)data;
    fill_stack();
    for (int i = 0; i < 3; i++)
        mine += leaf(n + i);
    return (void *)(intptr_t)mine;
}

static void undo(void *data)
{
    sink = *(int *)data;
}

static NOINLINE void *ends_inside(void *data)
{
    int n = leaf((int)(intptr_t)data);
    pthread_cleanup_push(undo, &n);
    if (n != 0)
        pthread_exit((void *)(intptr_t)leaf(n));
    pthread_cleanup_pop(0);
    return NULL;
}

static NOINLINE void *is_cancelled(void *data)
{
    int n = leaf((int)(intptr_t)data);
    pthread_cleanup_push(undo, &n);
    pthread_cancel(pthread_self());
    for (;;)
        pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

static char own_stack[131072] __attribute__((aligned(4096)));

static void run(void *(*f)(void *), pthread_attr_t *attributes)
{
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, attributes, f, (void *)5) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result != NULL);
}

int main(void)
{
    run(count, NULL);
    run(ends_inside, NULL);
    run(is_cancelled, NULL);
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, own_stack, sizeof own_stack) == 0);
    run(count, &attributes);
    run(ends_inside, &attributes);
    return 0;
}
