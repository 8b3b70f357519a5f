/* SPDX-License-Identifier: MIT */
/*
 * threads MANY EACH SERIAL: MANY threads at once call EACH times, then SERIAL threads one after another call once and
 * once more from a destructor of thread-specific data; a timer's handler calls as well. Prints "target_plain COUNT".
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static long each;
static pthread_key_t key;

static void *call_often(void *argument)
{
    for (long i = 0; i < each; i++)
        target_plain();
    return argument;
}

static void at_end(void *value)
{
    (void)value;
    target_plain();
}

static void *call_once(void *argument)
{
    pthread_setspecific(key, argument);
    target_plain();
    return NULL;
}

static void on_timer(int number)
{
    (void)number;
    target_plain();
}

int main(int argc, char **argv)
{
    static pthread_t threads[2000];
    if (argc < 4)
        return 2;
    long many = atol(argv[1]), serial = atol(argv[3]);
    each = atol(argv[2]);
    pthread_key_create(&key, at_end);
    signal(SIGALRM, on_timer);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < many; i++)
        if (pthread_create(&threads[i], NULL, call_often, NULL) != 0)
            return 1;
    for (long i = 0; i < many; i++)
        pthread_join(threads[i], NULL);
    for (long i = 0; i < serial; i++) {
        pthread_create(&threads[0], NULL, call_once, argv);
        pthread_join(threads[0], NULL);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("target_plain %ld\n", target_entered("target_plain"));
    return 0;
}
