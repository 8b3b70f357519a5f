/* SPDX-License-Identifier: MIT */
/*
 * The functions that allocate. A walk from their caller needs the callee-saved registers as the caller left them, which
 * can be told for certain only before the first instruction of C; so these save them, as struct sp_own_registers, and
 * hand that on in one more argument. No frame of ours is walked then.
 */
    .text

.macro ALLOCATION name, target, last
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

    ALLOCATION malloc, leaks_malloc, %rsi
    ALLOCATION calloc, leaks_calloc, %rdx
    ALLOCATION realloc, leaks_realloc, %rdx
    ALLOCATION reallocarray, leaks_reallocarray, %rcx
    ALLOCATION memalign, leaks_memalign, %rdx
    ALLOCATION aligned_alloc, leaks_memalign, %rdx
    ALLOCATION posix_memalign, leaks_posix_memalign, %rcx
    ALLOCATION valloc, leaks_valloc, %rsi
    ALLOCATION pvalloc, leaks_pvalloc, %rsi
    /* operator new, new[]: plain, nothrow, aligned, both */
    ALLOCATION _Znwm, leaks_new, %rsi
    ALLOCATION _ZnwmRKSt9nothrow_t, leaks_new_nothrow, %rdx
    ALLOCATION _ZnwmSt11align_val_t, leaks_new_aligned, %rdx
    ALLOCATION _ZnwmSt11align_val_tRKSt9nothrow_t, leaks_new_aligned_nothrow, %rcx
    ALLOCATION _Znam, leaks_new_array, %rsi
    ALLOCATION _ZnamRKSt9nothrow_t, leaks_new_array_nothrow, %rdx
    ALLOCATION _ZnamSt11align_val_t, leaks_new_array_aligned, %rdx
    ALLOCATION _ZnamSt11align_val_tRKSt9nothrow_t, leaks_new_array_aligned_nothrow, %rcx

    .section .note.GNU-stack,"",@progbits
