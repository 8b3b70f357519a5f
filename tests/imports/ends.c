/* SPDX-License-Identifier: MIT */
/* Calls target_plain 30 times, in itself and its children, and ends in the way that its argument names. */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void call(int count)
{
    for (int i = 0; i < count; i++)
        target_plain();
}

static void *end_thread(void *argument)
{
    call(10);
    pthread_exit(argument);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    call(10);
    if (strcmp(how, "fork") == 0) {
        for (int i = 0; i < 10; i++)
            if (fork() == 0) {
                call(1);
                _exit(0);
            }
        while (wait(NULL) > 0)
            continue;
        call(10);
        return 3;
    }
    if (strcmp(how, "vfork") == 0) {
        for (int i = 0; i < 10; i++) {
            if (vfork() == 0) {
                target_plain();
                _exit(0);
            }
            wait(NULL);
        }
        call(10);
        return 3;
    }
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, end_thread, NULL);
        pthread_join(thread, NULL);
        call(10);
        return 3;
    }
    call(20);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "exit") == 0)
        exit(3);
    return 3;
}
