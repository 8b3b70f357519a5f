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
    .p2align 6
\name:
    .cfi_startproc
    endbr64
    .irp    register, %r15, %r14, %r13, %r12, %rbp, %rbx
    pushq   \register
    .cfi_adjust_cfa_offset 8
    .endr
    movq    %rsp, \last
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    call    \target
    addq    $56, %rsp
    .cfi_adjust_cfa_offset -56
    ret
    .cfi_endproc
    .size   \name, . - \name
.endm
