/* SPDX-License-Identifier: MIT */
/* asks CASE: a program that uses spwalk_leaks.h itself. */
#include <spwalk_leaks.h>

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void *volatile sink;
static void *kept;

__attribute__((noinline)) static void leak(size_t size)
{
    sink = malloc(size);
    sink = NULL;
}

static _Atomic int is_over;

/* Two arrays of pointers that grow in turn, so that each has to move. */
static void *grow(void *unused)
{
    while (!is_over) {
        void **arrays[2] = {NULL, NULL};
        size_t count = 0;
        for (size_t room = 1024; room <= 1 << 18 && !is_over; room *= 2) {
            for (int i = 0; i < 2; i++)
                arrays[i] = realloc(arrays[i], room * sizeof(void *));
            for (; count < room; count++)
                for (int i = 0; i < 2; i++)
                    arrays[i][count] = count % 4096 == 0 ? malloc(16) : NULL;
        }
        for (size_t at = 0; at < count; at++)
            for (int i = 0; i < 2; i++)
                free(arrays[i][at]);
        free(arrays[0]);
        free(arrays[1]);
    }
    return unused;
}

static void count_while_moving(void)
{
    pthread_t threads[3];
    struct sp_leaks_summary summary;
    int found = 0;
    mallopt(M_MMAP_MAX, 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, grow, NULL);
    for (int i = 0; i < 30; i++) {
        sp_leaks_count(&summary);
        found += summary.lost_blocks != 0;
    }
    is_over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d of 30 counts found lost blocks\n", found);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Has the lock most of the time, as a thread of a pool of memory may. */
static void *have_lock(void *unused)
{
    while (!is_over) {
        pthread_mutex_lock(&lock);
        for (volatile int i = 0; i < 1000000; i++)
            continue;
        pthread_mutex_unlock(&lock);
        usleep(100);
    }
    return unused;
}

static volatile sig_atomic_t is_asking, is_handled;

static void lock_in_handler(int number)
{
    (void)number;
    if (is_asking) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    is_handled = 1;
}

/* The thread that asks has no lock where its handler runs, but one that was stopped may have. */
static void ask_while_handling(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    pthread_t thread;
    struct sp_leaks_summary summary;
    sigset_t alarm_alone, after;
    sigemptyset(&alarm_alone);
    sigaddset(&alarm_alone, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_alone, NULL);
    pthread_create(&thread, NULL, have_lock, NULL);
    signal(SIGALRM, lock_in_handler);
    pthread_sigmask(SIG_UNBLOCK, &alarm_alone, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 20 || !is_handled; i++) {
        is_asking = 1;
        sp_leaks_count(&summary);
        sp_leaks_report();
        sp_leaks_mark_all_reported();
        is_asking = 0;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    is_over = 1;
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    puts(sigismember(&after, SIGALRM) || sigismember(&after, SIGTERM) ? "signals are blocked" : "handled");
}

static _Atomic int is_reporting;

static int be_slow(const struct sp_leaks_summary *summary, void *argument)
{
    (void)summary, (void)argument;
    if (!is_reporting) {
        is_reporting = 1;
        usleep(300000);
    }
    return 0;
}

static void *report(void *unused)
{
    sp_leaks_report();
    return unused;
}

static int refuse(const struct sp_leaks_summary *summary, void *argument)
{
    printf("hook %llu %llu %s\n", (unsigned long long)summary->lost_blocks, (unsigned long long)summary->lost_bytes,
           (const char *)argument);
    fflush(stdout);
    return 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    struct sp_leaks_summary summary;
    if (strcmp(name, "disable") == 0) {
        leak(1);
        sp_leaks_disable();
        leak(2);
        sp_leaks_restore();
        leak(4);
        sp_leaks_disable_all();
        leak(8);
        sp_leaks_enable();
        leak(16);
        sp_leaks_restore();
        leak(32);
        sp_leaks_enable_all();
        leak(64);
    } else if (strcmp(name, "count") == 0) {
        leak(10);
        leak(20);
        kept = malloc(100);
        sp_leaks_count(&summary);
        printf("%llu %llu\n", (unsigned long long)summary.lost_blocks, (unsigned long long)summary.lost_bytes);
    } else if (strcmp(name, "moving") == 0) {
        count_while_moving();
    } else if (strcmp(name, "handler") == 0) {
        ask_while_handling();
    } else if (strcmp(name, "busy") == 0) {
        pthread_t thread;
        sp_leaks_set_hook(be_slow, NULL);
        pthread_create(&thread, NULL, report, NULL);
        while (!is_reporting)
            usleep(1000);
        leak(20);
    } else if (strcmp(name, "now") == 0) {
        leak(10);
        sp_leaks_report();
        sp_leaks_mark_all_reported();
        leak(20);
    } else if (strcmp(name, "signal") == 0) {
        leak(10);
        raise(SIGUSR2);
        leak(20);
    } else if (strcmp(name, "ignore") == 0) {
        leak(10);
        void *block = malloc(20);
        printf("%d %d\n", sp_leaks_ignore(block), sp_leaks_ignore(&kept));
    } else if (strcmp(name, "hook") == 0) {
        sp_leaks_set_hook(refuse, (void *)"argument");
        leak(10);
    }
    return 0;
}
