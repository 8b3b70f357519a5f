/* SPDX-License-Identifier: MIT */
/*
 * Frames of each kind for walk_victims.c: each function is `int name(int n, int (*next)(int))`, calls next(n) and
 * returns what it returned.
 */
    .text

.macro FUNCTION name
    .p2align 4
    .globl  \name
    .type   \name, @function
\name:
.endm

/* A frame word, and no register saved. */
FUNCTION frame_word
    .cfi_startproc
    subq    $24, %rsp
    .cfi_def_cfa_offset 32
    movq    $0xFFFFFFFFA5C00003, (%rsp)
    call    *%rsi
    addq    $24, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .globl  frame_word_end
frame_word_end:

/* A frame word with rbp in slot 1, which the function uses for something else. */
FUNCTION frame_word_rbp
    .cfi_startproc
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    subq    $32, %rsp
    .cfi_def_cfa_offset 48
    movq    $0xFFFFFFFFA5C10005, (%rsp)
    movl    $0x5a5a, %ebp
    call    *%rsi
    addq    $32, %rsp
    .cfi_def_cfa_offset 16
    popq    %rbp
    .cfi_restore %rbp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .globl  frame_word_rbp_end
frame_word_rbp_end:

/* CFA = rsp + n */
FUNCTION frame_plain
    .cfi_startproc
    subq    $40, %rsp
    .cfi_def_cfa_offset 48
    call    *%rsi
    addq    $40, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc

/* CFA = rbp + 16 */
FUNCTION frame_rbp
    .cfi_startproc
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq    $64, %rsp
    call    *%rsi
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc

/* CFA = rbx + 16: all registers must be followed. */
FUNCTION frame_rbx
    .cfi_startproc
    pushq   %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    movq    %rsp, %rbx
    .cfi_def_cfa_register %rbx
    subq    $48, %rsp
    call    *%rsi
    movq    %rbx, %rsp
    .cfi_def_cfa_register %rsp
    popq    %rbx
    .cfi_restore %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc

/* CFA = *(rsp + 8 + 8 * r12) + 8, as OpenSSL's bn_mul_mont has it with another register. */
FUNCTION frame_expression
    .cfi_startproc
    pushq   %r12
    .cfi_def_cfa_offset 16
    .cfi_offset %r12, -16
    leaq    8(%rsp), %rax
    subq    $56, %rsp
    .cfi_def_cfa_offset 72
    movl    $3, %r12d
    movq    %rax, 8(%rsp, %r12, 8)
    /* breg12 0, lit3, shl, breg7 8, plus, deref, lit8, plus */
    .cfi_escape 0x0f, 0x0a, 0x7c, 0x00, 0x33, 0x24, 0x77, 0x08, 0x22, 0x06, 0x38, 0x22
    call    *%rsi
    addq    $56, %rsp
    .cfi_def_cfa %rsp, 16
    popq    %r12
    .cfi_restore %r12
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc

/* No CFI: the code ahead tells. */
FUNCTION frame_bare
    pushq   %r13
    subq    $16, %rsp
    call    *%rsi
    addq    $16, %rsp
    popq    %r13
    ret

    .section .spwalk.frames,"a",@note
    .p2align 2
    .long   7, 24, 1
    .asciz  "spwalk"
    .p2align 2
    .long   frame_word - .
    .long   frame_word_end - frame_word
    .long   0xA5C00003
    .long   frame_word_rbp - .
    .long   frame_word_rbp_end - frame_word_rbp
    .long   0xA5C10005

    .section .note.GNU-stack,"",@progbits
