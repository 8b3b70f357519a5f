/* SPDX-License-Identifier: MIT */
/* Preloaded: walks at each SIGPROF, and says at the end how the walks ended. */
#include <spwalk.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

enum { MOST = 256 };

static volatile long walks, whole, wrong;
static struct sp_frame first;

static void on_profile(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    struct sp_frame frames[MOST];
    enum sp_end end;
    int n = sp_walk(context, frames, MOST, &end);
    walks = walks + 1;
    if (end != SP_END_OUTERMOST)
        return;
    whole = whole + 1;
    /* One thread: a whole walk ends in the frame that the first one did. */
    if (first.pc == 0)
        first = frames[n - 1];
    if (frames[n - 1].sp != first.sp || frames[n - 1].pc != first.pc)
        wrong = wrong + 1;
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_profile;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, NULL);
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

__attribute__((destructor)) static void stop(void)
{
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_PROF, &timer, NULL);
    fprintf(stderr, "walks %ld whole %ld wrong %ld\n", walks, whole, wrong);
}
