/* SPDX-License-Identifier: MIT */
/* Stacks that the program switches by itself: a coroutine that saves registers on its own stack, without CFI as such
 * code is written, and a call on another stack whose CFA is kept in rbp. */
#include "program.h"

#include <sys/mman.h>

__asm__(".text\n"
        ".type switch_to, @function\n"
        "switch_to:\n" /* (void **save, void *load) */
        ".cfi_startproc\n"
        "endbr64\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
        "push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
        "push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
        "push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
        "push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        "pop %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r15\n"
        "pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r14\n"
        "pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\n"
        "pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
        "pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size switch_to, . - switch_to\n"

        ".type call_on, @function\n"
        "call_on:\n" /* (int x, int (*f)(int), void *stack) */
        ".cfi_startproc\n"
        "endbr64\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "mov %rdx, %rsp\n"
        "call *%rsi\n"
        "mov %rbp, %rsp\n.cfi_def_cfa_register %rsp\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size call_on, . - call_on\n");

void switch_to(void **save, void *load) __asm__("switch_to");
int call_on(int x, int (*f)(int), void *stack) __asm__("call_on");

static void *home, *away;

static NOINLINE int visit(int n)
{
    int v = leaf(n);
    switch_to(&away, home);
    return v + leaf(n);
}

__attribute__((used)) static NOINLINE void body(void)
{
    for (int i = 0;; i++)
        sink = visit(i);
}

/* The first frame of a coroutine: no caller, and says so. */
__asm__(".type entry, @function\n"
        "entry:\n"
        ".cfi_startproc\n"
        ".cfi_undefined %rip\n"
        "endbr64\n"
        "call body\n"
        "hlt\n"
        ".cfi_endproc\n"
        ".size entry, . - entry\n");
extern const char entry[] __asm__("entry");

static NOINLINE int on_other_stack(int n)
{
    volatile int v[20];
    v[n & 15] = leaf(n);
    return v[n & 15] + leaf(n + 1);
}

/* A mapping of its own with a page below it that cannot be read. */
static char *map_stack(size_t size)
{
    char *p = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED && mprotect(p + 4096, size, PROT_READ | PROT_WRITE) == 0);
    return p + 4096;
}

int main(void)
{
    enum { SIZE = 65536 };
    char *stack = map_stack(SIZE);
    void **top = (void **)(stack + SIZE) - 8;
    for (int i = 0; i < 6; i++)
        top[i] = NULL;
    top[6] = (void *)entry;
    away = top;
    fill_stack();
    for (int i = 0; i < 3; i++)
        switch_to(&home, away);

    char *second = map_stack(SIZE);
    for (int i = 0; i < 3; i++)
        CHECK(call_on(i, on_other_stack, second + SIZE) != 0);
    return 0;
}
