/* SPDX-License-Identifier: MIT */
/*
 * Where stepping starts. The trap flag is set by popf, and the first trap comes after the instruction that follows it:
 * a jump to the code that is to be stepped, so none of ours is seen.
 */
#define TRAP_FLAG 0x100

        .text

/* rt_sigreturn, by the bytes that unwinders look for. It has no CFI, for the same reason: theirs must know it without. */
        .globl step_restorer
        .hidden step_restorer
        .type step_restorer, @function
        .balign 16
        nop
step_restorer:
        movq $15, %rax
        syscall
        .size step_restorer, . - step_restorer

/* Entered by the kernel in the place of each handler of the program's: (number, info, context). */
        .globl step_signal_thunk
        .hidden step_signal_thunk
        .type step_signal_thunk, @function
        .balign 16
step_signal_thunk:
        .cfi_startproc
        endbr64
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        pushq %rdx
        .cfi_adjust_cfa_offset 8
        leaq 24(%rsp), %rcx
        call step_signal_entered
        popq %rdx
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        testq %rax, %rax
        jz 1f
        btrq $63, %rax
        jc 2f
        pushfq
        .cfi_adjust_cfa_offset 8
        orl $TRAP_FLAG, (%rsp)
        popfq
        .cfi_adjust_cfa_offset -8
2:      jmp *%rax
1:      ret
        .cfi_endproc
        .size step_signal_thunk, . - step_signal_thunk

#ifdef STEP_PRELOAD
/*
 * Comes before libc's own: _start calls it. At its entry the stack holds _start's return address, and above that
 * nothing that is a frame.
 */
        .globl __libc_start_main
        .type __libc_start_main, @function
        .balign 16
__libc_start_main:
        .cfi_startproc
        endbr64
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        pushq %rsi
        .cfi_adjust_cfa_offset 8
        pushq %rdx
        .cfi_adjust_cfa_offset 8
        pushq %rcx
        .cfi_adjust_cfa_offset 8
        pushq %r8
        .cfi_adjust_cfa_offset 8
        pushq %r9
        .cfi_adjust_cfa_offset 8
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        leaq 56(%rsp), %rdi
        call step_preload_start
        movq %rax, %r11
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq %r9
        .cfi_adjust_cfa_offset -8
        popq %r8
        .cfi_adjust_cfa_offset -8
        popq %rcx
        .cfi_adjust_cfa_offset -8
        popq %rdx
        .cfi_adjust_cfa_offset -8
        popq %rsi
        .cfi_adjust_cfa_offset -8
        popq %rdi
        .cfi_adjust_cfa_offset -8
        btrq $63, %r11
        jc 1f
        pushfq
        .cfi_adjust_cfa_offset 8
        orl $TRAP_FLAG, (%rsp)
        popfq
        .cfi_adjust_cfa_offset -8
1:      jmp *%r11
        .cfi_endproc
        .size __libc_start_main, . - __libc_start_main
#else
/* The entry of a program that is linked with the oracle (-Wl,-e,step_start): as the kernel left it. */
        .globl step_start
        .type step_start, @function
        .balign 16
step_start:
        .cfi_startproc
        .cfi_undefined rip
        movq %rdx, %rbx
        movq %rsp, %rdi
        movq %rsp, %rbp
        andq $-16, %rsp
        call step_linked_start
        movq %rbx, %rdx
        movq %rbp, %rsp
        xorl %ebx, %ebx
        xorl %ebp, %ebp
        testl %eax, %eax
        jz 1f
        pushfq
        orl $TRAP_FLAG, (%rsp)
        popfq
1:      jmp _start
        .cfi_endproc
        .size step_start, . - step_start
#endif

        .section .note.GNU-stack, "", @progbits
