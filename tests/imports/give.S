/* SPDX-License-Identifier: MIT */
/* give(WIDE): calls capture with a pattern in each register and a word on the stack; returns the rsp that it had at the
   call, less the return address. */
    .text
    .globl give
    .type give, @function
give:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbx, -16
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbp, -24
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_offset %r12, -32
    push %r13
    .cfi_adjust_cfa_offset 8
    .cfi_offset %r13, -40
    push %r14
    .cfi_adjust_cfa_offset 8
    .cfi_offset %r14, -48
    push %r15
    .cfi_adjust_cfa_offset 8
    .cfi_offset %r15, -56
    lea pattern(%rip), %rax
    test %edi, %edi
    jnz 1f
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movups 64*\number(%rax), %xmm\number
    .endr
    jmp 2f
1:  .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vmovups 64*\number(%rax), %zmm\number
    .endr
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq 64*\number(%rax), %k\number
    .endr
2:  sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    mov $0x7757, %eax
    mov %rax, (%rsp)
    mov $0x7701, %eax
    mov $0x7702, %ebx
    mov $0x7703, %ecx
    mov $0x7704, %edx
    mov $0x7705, %esi
    mov $0x7706, %edi
    mov $0x7707, %ebp
    mov $0x7709, %r8d
    mov $0x770a, %r9d
    mov $0x770b, %r10d
    mov $0x770c, %r12d
    mov $0x770d, %r13d
    mov $0x770e, %r14d
    mov $0x770f, %r15d
#ifdef NO_PLT
    call *capture@GOTPCREL(%rip)
#else
    call capture@PLT
#endif
    lea -8(%rsp), %rax
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %r15
    .cfi_adjust_cfa_offset -8
    pop %r14
    .cfi_adjust_cfa_offset -8
    pop %r13
    .cfi_adjust_cfa_offset -8
    pop %r12
    .cfi_adjust_cfa_offset -8
    pop %rbp
    .cfi_adjust_cfa_offset -8
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size give, . - give

    .data
    .globl pattern
    .p2align 6
pattern:
    .set value, 1
    .rept 2048
    .byte (value * 167 + value / 64) & 255
    .set value, value + 1
    .endr

    .section .note.GNU-stack,"",@progbits
