/* SPDX-License-Identifier: MIT */
/*
 * Code that array.c never runs: it makes stacks of words by hand that return into it. What its CFI and its frame record
 * say is what the walker must go by.
 */
    .text

/* A leaf: CFA = rsp + 8. */
    .globl  code_leaf
    .type   code_leaf, @function
code_leaf:
    .cfi_startproc
    nop
    ret
    .cfi_endproc

/* A covered function whose frame is 24 bytes and saves no register. */
    .p2align 4
    .globl  code_covered_return
    .type   code_covered, @function
code_covered:
    .cfi_startproc
    subq    $24, %rsp
    .cfi_def_cfa_offset 32
    movq    $0xFFFFFFFFA5C00003, (%rsp)
    call    code_leaf
code_covered_return:
    addq    $24, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
code_covered_end:

/* The same without a record. */
    .p2align 4
    .globl  code_plain_return
    .type   code_plain, @function
code_plain:
    .cfi_startproc
    subq    $24, %rsp
    .cfi_def_cfa_offset 32
    call    code_leaf
code_plain_return:
    addq    $24, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc

/* CFA = rbp + 16. */
    .p2align 4
    .globl  code_rbp_return
    .type   code_rbp, @function
code_rbp:
    .cfi_startproc
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    call    code_leaf
code_rbp_return:
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc

/* CFA = rbx + 16: a register that only the full walk follows. It saves rbx of its caller at CFA - 16. */
    .p2align 4
    .globl  code_rbx_return
    .type   code_rbx, @function
code_rbx:
    .cfi_startproc
    pushq   %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    movq    %rsp, %rbx
    .cfi_def_cfa_register %rbx
    call    code_leaf
code_rbx_return:
    popq    %rbx
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc

/* A thread's first function. */
    .p2align 4
    .globl  code_first_return
    .type   code_first, @function
code_first:
    .cfi_startproc
    .cfi_undefined %rip
    call    code_leaf
code_first_return:
    hlt
    .cfi_endproc

/* Code without CFI that cannot be read ahead. */
    .p2align 4
    .globl  code_unknown_return
code_unknown:
    call    code_leaf
code_unknown_return:
    jmpq    *%rax

    .section .spwalk.frames,"a",@note
    .p2align 2
    .long   7, 12, 1
    .asciz  "spwalk"
    .p2align 2
    .long   code_covered - .
    .long   code_covered_end - code_covered
    .long   0xA5C00003

    .section .note.GNU-stack,"",@progbits
