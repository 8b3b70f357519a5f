/* SPDX-License-Identifier: MIT */
/* fork, vfork, and posix_spawn (on a stack of its own, sharing memory). */
#include "program.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void await(pid_t child, int status)
{
    int s;
    CHECK(child > 0 && waitpid(child, &s, 0) == child);
    CHECK(WIFEXITED(s) && WEXITSTATUS(s) == status);
}

static NOINLINE int in_child(int n)
{
    volatile int v[12];
    v[n & 7] = leaf(n);
    return v[n & 7];
}

static NOINLINE pid_t by_fork(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(in_child(6));
    return child;
}

static NOINLINE pid_t by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(7);
    return child;
}

int main(void)
{
    fill_stack();
    await(by_fork(), 7);
    fill_stack();
    await(by_vfork(), 7);
    pid_t child;
    char *arguments[] = {"true", NULL};
    CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
    await(child, 0);
    char *missing[] = {"missing", NULL};
    CHECK(posix_spawnp(&child, "no-such-program", NULL, NULL, missing, environ) != 0);
    in_child(1);
    return 0;
}
