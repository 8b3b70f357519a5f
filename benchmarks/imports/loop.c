/* SPDX-License-Identifier: MIT */
/*
 * loop CALLS THREADS PATTERN CLOCK: calls by import slots, CALLS in each of THREADS threads, and prints nanoseconds a
 * call. PATTERN: one: the same function; eight: eight in turn. CLOCK: cpu: the thread's own time; wall: all that
 * passes, for what another process adds. Of 25 rounds the fastest counts: the rest is others' work.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

long function_0(long), function_1(long), function_2(long), function_3(long), function_4(long), function_5(long),
    function_6(long), function_7(long);

static long calls;
static int eight;
static clockid_t timer;
#define ROUNDS 25
static pthread_barrier_t barrier;

static double now(void)
{
    struct timespec time;
    clock_gettime(timer, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static long one_function(void)
{
    long value = 0;
    for (long i = 0; i < calls; i++)
        value = function_0(value + i);
    return value;
}

static long eight_functions(void)
{
    long value = 0;
    for (long i = 0; i < calls / 8; i++) {
        value = function_0(value + i);
        value = function_1(value);
        value = function_2(value);
        value = function_3(value);
        value = function_4(value);
        value = function_5(value);
        value = function_6(value);
        value = function_7(value);
    }
    return value;
}

static volatile long result;

static void *run(void *best)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        double start = now();
        result = eight ? eight_functions() : one_function();
        double time = (now() - start) / (double)calls;
        if (time < *(double *)best)
            *(double *)best = time;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    double best[64], worst = 0;
    if (argc != 5)
        return 2;
    int count = atoi(argv[2]);
    calls = atol(argv[1]) / ROUNDS;
    eight = strcmp(argv[3], "eight") == 0;
    timer = strcmp(argv[4], "wall") == 0 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    if (calls < 8 || count < 1 || count > 64)
        return 2;
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        best[i] = 1e30;
        pthread_create(&threads[i], NULL, run, &best[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        worst = best[i] > worst ? best[i] : worst;
    }
    printf("%.3f\n", worst);
    return 0;
}
