/* SPDX-License-Identifier: MIT */
/* What runs before and after main: constructors and destructors of several priorities, atexit, preinit and fini arrays.
 */
#include "program.h"

static volatile int ran;

static NOINLINE void work(int n)
{
    volatile int v[20];
    v[n & 15] = leaf(n);
    ran += v[n & 15] > 0;
}

__attribute__((constructor(101))) static void early(void)
{
    fill_stack();
    work(1);
}

__attribute__((constructor)) static void usual(void)
{
    work(2);
}

static void preinit(int argc, char **argv, char **environment)
{
    (void)argv;
    (void)environment;
    work(argc);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(int, char **, char **) = preinit;

__attribute__((destructor)) static void late(void)
{
    work(3);
}

static void at_exit(void)
{
    work(4);
}

int main(void)
{
    CHECK(ran == 3);
    atexit(at_exit);
    exit(0);
}
