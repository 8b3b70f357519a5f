/* SPDX-License-Identifier: MIT */
/* int probe(void *return_address): 1 where the caller's [SP] is a word that leads to it, 0 where to another, 2 no word. */
        .text
        .globl  probe
        .type   probe, @function
probe:
        .cfi_startproc
        movq    8(%rsp), %rdx
        movl    $2, %eax
        movq    %rdx, %rcx
        shrq    $20, %rcx
        movq    $0xFFFFFFFFA5C, %rsi
        cmpq    %rsi, %rcx
        jne     1f
        movzwl  %dx, %edx
        xorl    %eax, %eax
        cmpq    %rdi, 8(%rsp,%rdx,8)
        sete    %al
1:      ret
        .cfi_endproc
        .size   probe, .-probe
        .section .note.GNU-stack,"",@progbits
