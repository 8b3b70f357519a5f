/* SPDX-License-Identifier: MIT */
/*
 * Entries from stubs into C. A stub is left with every register as its caller set it, so all that may hold an argument
 * is saved here: rdi, rsi, rdx, rcx, r8, r9, rax (the number of vector arguments), r10 (the static chain) and the
 * vector and mask registers. r11 is the one register that the psABI leaves to such code (System V psABI AMD64, 3.2.3).
 *
 *     rbp + 16  return address of the call
 *     rbp + 8   the import's index, later the address to continue at
 *     rbp       caller's rbp
 *     rbp - 64  rax .. r10
 *     rbp - 104 rbx, r12 .. r15: not changed here, but the walk from here needs to know them
 *     rsp       XSAVE area, 64-byte aligned
 */
    .text

    .globl imports_enter_first_call
    .hidden imports_enter_first_call
    .type imports_enter_first_call, @function
    .p2align 4
imports_enter_first_call:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    endbr64
    push %rbp
    .cfi_def_cfa_offset 24
    .cfi_offset %rbp, -24
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rax
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %r8
    push %r9
    push %r10
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov imports_save_size(%rip), %eax
    sub %rax, %rsp
    and $-64, %rsp
    mov imports_save_mask(%rip), %eax
    xor %edx, %edx
    mov imports_save_compact(%rip), %ecx
    cmp $1, %ecx
    ja 2f
    movq %rdx, 512(%rsp)
    movq %rdx, 520(%rsp)
    movq %rdx, 528(%rsp)
    movq %rdx, 536(%rsp)
    movq %rdx, 544(%rsp)
    movq %rdx, 552(%rsp)
    movq %rdx, 560(%rsp)
    movq %rdx, 568(%rsp)
    je 1f
    xsave (%rsp)
    jmp 3f
1:  xsavec (%rsp)
    jmp 3f
2:  fxsave (%rsp)
3:  lea -104(%rbp), %rdi
    cld
    call imports_first_call
    mov %rax, 8(%rbp)
    mov imports_save_mask(%rip), %eax
    xor %edx, %edx
    cmpl $2, imports_save_compact(%rip)
    je 4f
    xrstor (%rsp)
    jmp 5f
4:  fxrstor (%rsp)
5:  lea -64(%rbp), %rsp
    pop %r10
    pop %r9
    pop %r8
    pop %rdi
    pop %rsi
    pop %rdx
    pop %rcx
    pop %rax
    pop %rbp
    .cfi_def_cfa %rsp, 16
    .cfi_restore %rbp
    pop %r11
    .cfi_def_cfa_offset 8
    jmp *%r11
    .cfi_endproc
    .size imports_enter_first_call, . - imports_enter_first_call

    .globl imports_run_on
    .hidden imports_run_on
    .type imports_run_on, @function
    .p2align 4
imports_run_on:
    .cfi_startproc
    endbr64
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    mov %rdi, %rsp
    mov %rdx, %rdi
    call *%rsi
    mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size imports_run_on, . - imports_run_on

    .globl imports_enter_main
    .hidden imports_enter_main
    .type imports_enter_main, @function
    .p2align 4
imports_enter_main:
    .cfi_startproc
    endbr64
    push %rdi
    .cfi_def_cfa_offset 16
    push %rsi
    .cfi_def_cfa_offset 24
    push %rdx
    .cfi_def_cfa_offset 32
    call imports_main_entered
    pop %rdx
    .cfi_def_cfa_offset 24
    pop %rsi
    .cfi_def_cfa_offset 16
    pop %rdi
    .cfi_def_cfa_offset 8
    jmp *imports_real_main(%rip)
    .cfi_endproc
    .size imports_enter_main, . - imports_enter_main

    .globl imports_initialisers
    .hidden imports_initialisers
    .type imports_initialisers, @function
    .p2align 4
imports_initialisers:
    .cfi_startproc
    .set number, 0
    .rept 256
    .p2align 4
    endbr64
    mov $number, %ecx
    jmp imports_initialise
    .set number, number + 1
    .endr
    .cfi_endproc
    .size imports_initialisers, . - imports_initialisers

    .section .note.GNU-stack,"",@progbits
