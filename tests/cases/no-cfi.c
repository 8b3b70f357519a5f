/* SPDX-License-Identifier: MIT */
/*
 * Code without CFI: crt's _init and _fini, gaps between functions in hand-written assembly, code made at run time. Each
 * walk is right because the code ahead was read, or ends and says so.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tap.h"
#include "walks.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

void _init(void);
void _fini(void);

__asm__(
    ".text\n"
    ".p2align 4\n"
    "first: .cfi_startproc\n subq $56, %rsp\n .cfi_def_cfa_offset 64\n addq $56, %rsp\n .cfi_def_cfa_offset 8\n ret\n"
    " .cfi_endproc\n"
    /* All of these lie in a gap. They call (*rdi)(). */
    ".type pushes, @function\n"
    "pushes: endbr64\n pushq %rbp\n pushq %rbx\n pushq %r15\n subq $16, %rsp\n movl $7, %ebp\n call *%rdi\n"
    " addq $16, %rsp\n popq %r15\n popq %rbx\n popq %rbp\n ret\n"
    ".type frame_pointer, @function\n"
    "frame_pointer: pushq %rbp\n movq %rsp, %rbp\n pushq %r12\n subq $72, %rsp\n call *%rdi\n leaq -8(%rbp), %rsp\n"
    " popq %r12\n popq %rbp\n ret\n"
    ".type leaves, @function\n"
    "leaves: pushq %rbp\n movq %rsp, %rbp\n subq $48, %rsp\n call *%rdi\n leave\n ret\n"
    ".type branches, @function\n"
    "branches: pushq %rbx\n movq %rdi, %rbx\n testl %esi, %esi\n jz 1f\n subq $32, %rsp\n call *%rbx\n addq $32, %rsp\n"
    "1: call 2f\n popq %rbx\n ret\n"
    "2: nop\n ret\n"
    ".type jumps_out, @function\n"
    "jumps_out: subq $8, %rsp\n call *%rdi\n addq $8, %rsp\n jmp first\n"
    ".type loops, @function\n"
    "loops: pushq %rbx\n movl $3, %ebx\n"
    "3: subl $1, %ebx\n jnz 3b\n call *%rdi\n popq %rbx\n ret\n"
    "last: .cfi_startproc\n .cfi_def_cfa_offset 128\n nop\n .cfi_endproc\n");
void pushes(void (*f)(void), int n) __asm__("pushes");
void frame_pointer(void (*f)(void), int n) __asm__("frame_pointer");
void leaves(void (*f)(void), int n) __asm__("leaves");
void branches(void (*f)(void), int n) __asm__("branches");
void jumps_out(void (*f)(void), int n) __asm__("jumps_out");
void loops(void (*f)(void), int n) __asm__("loops");

static NOINLINE void nothing(void)
{
    __asm__ volatile("" ::: "memory");
}

/* rbp can be clobbered only in a function that doesn't keep its frame there. */
__attribute__((optimize("omit-frame-pointer"))) static NOINLINE void with_registers(void)
{
    __asm__ volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "r15", "memory");
}

static void call_crt(void *unused)
{
    (void)unused;
    _init();
    _fini();
}

static void crt(void)
{
    struct tally tally = walk_each_step(call_crt, NULL);
    EXPECT(tally.walks > 8 && tally.wrong == 0 && tally.marked == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong,
           tally.walks, tally.marked);
}

static void call_all(void *unused)
{
    (void)unused;
    static void (*const functions[])(void (*)(void), int) = {pushes, frame_pointer, leaves, branches, jumps_out, loops};
    for (unsigned i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        functions[i](nothing, 0);
        functions[i](with_registers, 1);
    }
}

static void gaps(void)
{
    struct tally tally = walk_each_step(call_all, NULL);
    EXPECT(tally.walks > 150 && tally.wrong == 0, "%ld of %ld walks wrong", tally.wrong, tally.walks);
    EXPECT(tally.marked <= tally.walks / 20, "%ld of %ld walks marked", tally.marked, tally.walks);
}

/* push rbx; sub rsp, 32; mov rbx, rdi; call rbx; add rsp, 32; pop rbx; ret */
static const unsigned char code[] = {0x53, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xfb,
                                     0xff, 0xd3, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3};
static void (*made)(void (*)(void));

static void call_made(void *unused)
{
    (void)unused;
    made(nothing);
    made(with_registers);
}

static void made_at_run_time(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(page != MAP_FAILED, "no memory");
    memcpy(page, code, sizeof code);
    *(void **)&made = page;
    struct tally tally = walk_each_step(call_made, NULL);
    EXPECT(tally.walks > 15 && tally.wrong == 0, "%ld of %ld walks wrong", tally.wrong, tally.walks);
}

int main(void)
{
    tap_case("each step of crt's _init and _fini", crt);
    tap_case("each step of functions in a gap of the CFI", gaps);
    tap_case("each step of code made at run time: marked, or right", made_at_run_time);
    return tap_end();
}
