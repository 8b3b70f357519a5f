/* SPDX-License-Identifier: MIT */
/*
 * Code whose CFI is wrong or silent at some instructions, in the ways that real code's is. interrupted.c never runs it:
 * it makes stacks of words by hand and walks as if interrupted at the labels.
 */
    .text

/* Pushes and a moved rsp of which CFI says nothing, as in hand-written multi-precision code and in inline assembly. */
    .globl  wrong_pushed, wrong_moved
    .type   wrong_pushes, @function
wrong_pushes:
    .cfi_startproc
    pushq   %rbx
    pushq   %rbp
wrong_pushed:
    nop
    popq    %rbp
    popq    %rbx
    leaq    -128(%rsp), %rsp
wrong_moved:
    nop
    leaq    128(%rsp), %rsp
    ret
    .cfi_endproc

/* The end of a realigned function as GCC has it: behind `pop %rbp`, rbp is said to be saved at *rbp. */
    .p2align 4
    .globl  wrong_realigned, wrong_realigned_return
    .type   wrong_realigns, @function
wrong_realigns:
    .cfi_startproc
    .cfi_def_cfa %r10, 0
    .cfi_escape 0x10, 6, 2, 0x76, 0
    nop
    popq    %rbp
wrong_realigned:
    leaq    -8(%r10), %rsp
    .cfi_def_cfa %rsp, 8
wrong_realigned_return:
    ret
    .cfi_endproc

/* A goto out of a nested function: rsp is another frame's, and CFI still says CFA = rbp + 16. */
    .p2align 4
    .globl  wrong_left, wrong_jump
    .type   wrong_leaves, @function
wrong_leaves:
    .cfi_startproc
    .cfi_def_cfa %rbp, 16
    .cfi_offset %rbp, -16
    movq    (%rax), %rcx
    movq    8(%rax), %rsp
wrong_left:
    movq    %rcx, %rbp
wrong_jump:
    jmpq    *%rdx
    .cfi_endproc

/* A jump that nothing is told of, in a function that is right. */
    .p2align 4
    .globl  right_jump
    .type   right_jumps, @function
right_jumps:
    .cfi_startproc
    nop
right_jump:
    jmpq    *(%rax)
    .cfi_endproc

/* Callers of these. */
    .macro  caller name
    .p2align 4
    .globl  calls_\name
    .type   caller_of_\name, @function
caller_of_\name:
    .cfi_startproc
    subq    $24, %rsp
    .cfi_def_cfa_offset 32
    call    \name
calls_\name:
    addq    $24, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .endm
    caller  wrong_pushes
    caller  wrong_leaves
    caller  right_jumps

    .p2align 4
    .globl  calls_wrong_realigns
    .type   caller_of_wrong_realigns, @function
caller_of_wrong_realigns:
    .cfi_startproc
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    call    wrong_realigns
calls_wrong_realigns:
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc

    .p2align 4
    .globl  outermost
    .type   first, @function
first:
    .cfi_startproc
    .cfi_undefined %rip
    call    caller_of_wrong_pushes
outermost:
    hlt
    .cfi_endproc

    .section .note.GNU-stack,"",@progbits
