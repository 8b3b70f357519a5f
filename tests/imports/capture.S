/* SPDX-License-Identifier: MIT */
/* capture: stores what it was called with in captured, wide registers where captured_wide is not 0. */
    .text
    .globl capture
    .type capture, @function
capture:
    .cfi_startproc
    endbr64
    mov captured@GOTPCREL(%rip), %r11
    mov %rax, 0(%r11)
    mov %rbx, 8(%r11)
    mov %rcx, 16(%r11)
    mov %rdx, 24(%r11)
    mov %rsi, 32(%r11)
    mov %rdi, 40(%r11)
    mov %rbp, 48(%r11)
    mov %rsp, 56(%r11)
    mov %r8, 64(%r11)
    mov %r9, 72(%r11)
    mov %r10, 80(%r11)
    mov %r12, 88(%r11)
    mov %r13, 96(%r11)
    mov %r14, 104(%r11)
    mov %r15, 112(%r11)
    mov (%rsp), %rax
    mov %rax, 120(%r11)
    mov 8(%rsp), %rax
    mov %rax, 128(%r11)
    mov captured_wide@GOTPCREL(%rip), %rax
    cmpl $0, (%rax)
    jne 1f
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movups %xmm\number, 256 + 64*\number(%r11)
    .endr
    ret
1:  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vmovups %zmm\number, 256 + 64*\number(%r11)
    .endr
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq %k\number, 136 + 8*\number(%r11)
    .endr
    ret
    .cfi_endproc
    .size capture, . - capture

    .bss
    .globl captured
    .type captured, @object
    .size captured, 4096
    .p2align 6
captured:
    .zero 4096
    .globl captured_wide
    .type captured_wide, @object
    .size captured_wide, 4
captured_wide:
    .zero 4

    .section .note.GNU-stack,"",@progbits
