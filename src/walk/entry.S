/* SPDX-License-Identifier: MIT */
/*
 * The functions that start at their caller. A callee-saved register can be told for certain only before the first
 * instruction of C, so these save them, as struct sp_own_registers, and hand that on.
 */
    .text

/* name(arguments in rdi, rsi, rdx), handed on to target with the saved registers as the argument in \last */
.macro ENTRY name, target, last
    .globl  \name
    .type   \name, @function
    .p2align 4
\name:
    .cfi_startproc
    endbr64
    subq    $72, %rsp
    .cfi_def_cfa_offset 80
    movq    %rbx, 0(%rsp)
    movq    %rbp, 8(%rsp)
    movq    %r12, 16(%rsp)
    movq    %r13, 24(%rsp)
    movq    %r14, 32(%rsp)
    movq    %r15, 40(%rsp)
    leaq    80(%rsp), %rax
    movq    %rax, 48(%rsp)
    movq    72(%rsp), %rax
    movq    %rax, 56(%rsp)
    movq    %rsp, \last
    call    \target
    addq    $72, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size   \name, . - \name
.endm

    ENTRY sp_backtrace, sp_backtrace_from, %rdx
    ENTRY sp_walk, sp_walk_from, %r8

    .section .note.GNU-stack,"",@progbits
