/* SPDX-License-Identifier: MIT */
/* The functions that allocate: each walks from its caller. */
#include "walk/entry-macro.S"

    .text
    ENTRY malloc, leaks_malloc, %rsi
    ENTRY calloc, leaks_calloc, %rdx
    ENTRY realloc, leaks_realloc, %rdx
    ENTRY reallocarray, leaks_reallocarray, %rcx
    ENTRY memalign, leaks_memalign, %rdx
    ENTRY aligned_alloc, leaks_memalign, %rdx
    ENTRY posix_memalign, leaks_posix_memalign, %rcx
    ENTRY valloc, leaks_valloc, %rsi
    ENTRY pvalloc, leaks_pvalloc, %rsi
    /* operator new, new[]: plain, nothrow, aligned, both */
    ENTRY _Znwm, leaks_new, %rsi
    ENTRY _ZnwmRKSt9nothrow_t, leaks_new_nothrow, %rdx
    ENTRY _ZnwmSt11align_val_t, leaks_new_aligned, %rdx
    ENTRY _ZnwmSt11align_val_tRKSt9nothrow_t, leaks_new_aligned_nothrow, %rcx
    ENTRY _Znam, leaks_new_array, %rsi
    ENTRY _ZnamRKSt9nothrow_t, leaks_new_array_nothrow, %rdx
    ENTRY _ZnamSt11align_val_t, leaks_new_array_aligned, %rdx
    ENTRY _ZnamSt11align_val_tRKSt9nothrow_t, leaks_new_array_aligned_nothrow, %rcx

    .section .note.GNU-stack,"",@progbits
