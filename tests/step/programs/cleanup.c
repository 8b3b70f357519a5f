/* SPDX-License-Identifier: MIT */
/* step: cflags=-fexceptions libs=-pthread */
/* C with cleanups: variables that are destroyed when the frame is left, also by a thread's end. */
#include "program.h"

#include <pthread.h>

static volatile int destroyed;

static void destroy(int *p)
{
    destroyed += leaf(*p) > 0;
}

static NOINLINE int owns(int n)
{
    __attribute__((cleanup(destroy))) int a = n;
    if (n == 0)
        pthread_exit(NULL);
    __attribute__((cleanup(destroy))) int b = leaf(n);
    return owns(n - 1) + a + b;
}

static void *body(void *data)
{
    return (void *)(intptr_t)owns((int)(intptr_t)data);
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, (void *)3) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(destroyed == 7);
    return 0;
}
