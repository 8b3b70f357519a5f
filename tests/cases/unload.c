/* SPDX-License-Identifier: MIT */
/* The library is unloaded while threads that have walked live on: they end as if it had never been there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tap.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

enum { MOST = 64 };

static void *library;
static int (*backtrace_of_library)(void **, int);
static pthread_barrier_t walked, unloaded;

static void load(void)
{
    library = dlopen(LIBSPWALK, RTLD_NOW | RTLD_LOCAL);
    EXPECT(library != NULL, "%s", dlerror());
    *(void **)&backtrace_of_library = dlsym(library, "sp_backtrace");
    EXPECT(backtrace_of_library != NULL, "%s", dlerror());
}

static void unload(void)
{
    EXPECT(dlclose(library) == 0, "%s", dlerror());
    EXPECT(dlopen(LIBSPWALK, RTLD_NOW | RTLD_NOLOAD) == NULL, "it is still loaded: this tests nothing");
}

/* From its third walk on, a thread has frames that are kept. */
static void walk(void)
{
    void *pcs[MOST];
    for (int i = 0; i < 4; i++)
        EXPECT(backtrace_of_library(pcs, MOST) > 2, "no frames");
}

static void *walk_and_wait(void *data)
{
    walk();
    pthread_barrier_wait(&walked);
    pthread_barrier_wait(&unloaded);
    return data;
}

static void threads_that_live_on(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    pthread_barrier_init(&walked, NULL, THREADS + 1);
    pthread_barrier_init(&unloaded, NULL, THREADS + 1);
    for (int again = 0; again < 3; again++) {
        load();
        for (int i = 0; i < THREADS; i++)
            EXPECT(pthread_create(&threads[i], NULL, walk_and_wait, NULL) == 0, "no thread");
        pthread_barrier_wait(&walked);
        unload();
        pthread_barrier_wait(&unloaded);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
}

static void *walk_and_unload(void *data)
{
    load();
    walk();
    unload();
    return data;
}

static void a_thread_that_unloads_it(void)
{
    for (int again = 0; again < 3; again++) {
        pthread_t thread;
        EXPECT(pthread_create(&thread, NULL, walk_and_unload, NULL) == 0, "no thread");
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    tap_case("threads that live on", threads_that_live_on);
    tap_case("a thread that unloads it", a_thread_that_unloads_it);
    return tap_end();
}
