/* SPDX-License-Identifier: MIT */
/* Code without CFI: assembly with pushes and locals but no frame records, and code made at run time. */
#include "program.h"

#include <string.h>
#include <sys/mman.h>

__asm__(".text\n"
        ".type bare, @function\n"
        "bare:\n" /* (int x, int (*f)(int)) */
        "push %rbx\n"
        "push %r12\n"
        "sub $24, %rsp\n"
        "mov %rsi, %r12\n"
        "mov %edi, %ebx\n"
        "call *%rsi\n"
        "mov %eax, 8(%rsp)\n"
        "test %ebx, %ebx\n"
        "jz 1f\n"
        "mov %ebx, %edi\n"
        "call *%r12\n"
        "add 8(%rsp), %eax\n"
        "1: add $24, %rsp\n"
        "pop %r12\n"
        "pop %rbx\n"
        "ret\n"
        ".size bare, . - bare\n"

        ".type bare_rbp, @function\n"
        "bare_rbp:\n"
        "push %rbp\n"
        "mov %rsp, %rbp\n"
        "sub $32, %rsp\n"
        "call *%rsi\n"
        "leave\n"
        "ret\n"
        ".size bare_rbp, . - bare_rbp\n"

        ".type bare_leaf, @function\n"
        "bare_leaf:\n"
        "lea 3(%rdi), %eax\n"
        "nop\n"
        "ret\n"
        ".size bare_leaf, . - bare_leaf\n");
int bare(int x, int (*f)(int)) __asm__("bare");
int bare_rbp(int x, int (*f)(int)) __asm__("bare_rbp");
int bare_leaf(int x) __asm__("bare_leaf");

static NOINLINE int saves(int n)
{
    volatile int v[12];
    v[n & 7] = leaf(n);
    return v[n & 7] + bare_leaf(n);
}

/* push rbx; sub rsp, 16; mov ebx, edi; call rsi; add eax, ebx; add rsp, 16; pop rbx; ret */
static const unsigned char code[] = {0x53, 0x48, 0x83, 0xEC, 0x10, 0x89, 0xFB, 0xFF, 0xD6,
                                     0x01, 0xD8, 0x48, 0x83, 0xC4, 0x10, 0x5B, 0xC3};

int main(void)
{
    void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED);
    memcpy(made, code, sizeof code);
    int (*run_made)(int, int (*)(int)) = (int (*)(int, int (*)(int)))made;
    int total = 0;
    for (int i = 0; i < 2; i++) {
        fill_stack();
        total += bare(i, saves) + bare_rbp(i, saves) + bare_leaf(i);
        fill_stack();
        total += run_made(i, saves);
    }
    CHECK(total != 0);
    munmap(made, 4096);
    return 0;
}
