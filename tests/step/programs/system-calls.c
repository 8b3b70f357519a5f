/* SPDX-License-Identifier: MIT */
/* Instructions that step unlike others: system calls, repeated string moves, popf, and a return to a pushed address. */
#include "program.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static NOINLINE long raw(long number)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
    return result;
}

static NOINLINE void repeated(char *to, const char *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    leaf(1);
}

static NOINLINE int flags(int a)
{
    long f;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tpopq %0\n\tpushq %0\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
                     : "=r"(f));
    return leaf(a) + (int)(f & 2);
}

/* A jump written as push and ret, and a call whose return address is replaced (as in a retpoline). */
__asm__(".text\n"
        ".type pushed, @function\n"
        "pushed:\n"
        ".cfi_startproc\n"
        "lea 1f(%rip), %rax\n"
        "push %rax\n.cfi_adjust_cfa_offset 8\n"
        "ret\n.cfi_adjust_cfa_offset -8\n"
        "1: lea 1(%rdi), %eax\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size pushed, . - pushed\n");
int pushed(int x) __asm__("pushed");

int main(void)
{
    char a[200], b[200];
    memset(a, 1, sizeof a);
    fill_stack();
    CHECK(raw(SYS_getppid) == getppid());
    repeated(b, a, sizeof a);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK(flags(1) != 0 && pushed(3) == 4);
    return 0;
}
