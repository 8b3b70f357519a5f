/* SPDX-License-Identifier: MIT */
/* makecontext and swapcontext between stacks of three kinds: static, allocated, and mapped. */
#include "program.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t home, one, two;
static char static_stack[32768] __attribute__((aligned(16)));

static NOINLINE int yield(ucontext_t *from, ucontext_t *to, int n)
{
    int v = leaf(n);
    swapcontext(from, to);
    return v;
}

static void first(int n)
{
    for (int i = 0; i < 3; i++)
        sink = yield(&one, &two, n + i);
}

static NOINLINE int deeper(int n)
{
    return n == 0 ? yield(&two, &one, n) : deeper(n - 1) + leaf(n);
}

static void second(int n, int m)
{
    for (int i = 0; i < 2; i++)
        sink = deeper(n + i) + m;
}

static void prepare(ucontext_t *c, void *stack, size_t size)
{
    memset(stack, 0x41, size);
    CHECK(getcontext(c) == 0);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = size;
    c->uc_link = &home;
}

static NOINLINE void run(void *stack, size_t size)
{
    prepare(&one, static_stack, sizeof static_stack);
    prepare(&two, stack, size);
    makecontext(&one, (void (*)(void))first, 1, 5);
    makecontext(&two, (void (*)(void))second, 2, 2, 7);
    CHECK(swapcontext(&home, &one) == 0);
}

int main(void)
{
    fill_stack();
    void *allocated = malloc(65536);
    run(allocated, 65536);
    run(allocated, 65536);
    void *mapped = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    run(mapped, 65536);
    /* Back to a saved context, down the same stack. */
    volatile int rounds = 0;
    CHECK(getcontext(&home) == 0);
    if (rounds++ < 2) {
        leaf(rounds);
        setcontext(&home);
    }
    CHECK(rounds == 3);
    munmap(mapped, 65536);
    free(allocated);
    return 0;
}
