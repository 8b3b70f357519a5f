/* SPDX-License-Identifier: MIT */
/*
 * For the assembler: a function that starts at its caller. A callee-saved register can be told for certain only before
 * the first instruction of C, so it saves them, as struct sp_own_registers (start.h), and hands that on. No frame of ours
 * is walked then.
 */

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
