/* SPDX-License-Identifier: MIT */
/*
 * many: eight threads that together leak a million blocks at 131,072 distinct stacks, while they hand others to each
 * other to be freed. A stack is a path through two functions, a bit of the path's number at each step.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 8, STEPS = 14, ROUNDS = 8 };

static _Atomic(void *) handed[1024];
static void *volatile sinks[THREADS];

static void go_left(unsigned path, unsigned steps, unsigned thread);
static void go_right(unsigned path, unsigned steps, unsigned thread);

#define BODY                                                                                                           \
    if (steps == 0) {                                                                                                  \
        sinks[thread] = calloc(1, 24);                                                                                 \
        sinks[thread] = NULL;                                                                                          \
    } else if (path & 1) {                                                                                             \
        go_left(path >> 1, steps - 1, thread);                                                                         \
    } else {                                                                                                           \
        go_right(path >> 1, steps - 1, thread);                                                                        \
    }                                                                                                                  \
    __asm__ volatile("")

__attribute__((noinline, noclone)) static void go_left(unsigned path, unsigned steps, unsigned thread)
{
    BODY;
}

__attribute__((noinline, noclone)) static void go_right(unsigned path, unsigned steps, unsigned thread)
{
    BODY;
    __asm__ volatile("nop");
}

/* A function of its own for each thread, so that each has stacks of its own. */
#define WORK(number)                                                                                                   \
    static void *work_##number(void *unused)                                                                           \
    {                                                                                                                  \
        for (volatile unsigned round = 0; round < ROUNDS; round++)                                                     \
            for (volatile unsigned path = 0; path < 1u << STEPS; path++) {                                             \
                go_left(path, STEPS, number);                                                                          \
                free(atomic_exchange(&handed[(path * 7 + number * 131) % 1024], calloc(1, path % 100)));               \
            }                                                                                                          \
        return unused;                                                                                                 \
    }
WORK(0)
WORK(1)
WORK(2)
WORK(3)
WORK(4)
WORK(5)
WORK(6)
WORK(7)

int main(int argc, char **argv)
{
    void *(*work[THREADS])(void *) = {work_0, work_1, work_2, work_3, work_4, work_5, work_6, work_7};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work[i], NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* "kill": an end without a report. */
    if (argc > 1 && argv[1][0] == 'k')
        raise(SIGKILL);
    return 0;
}
