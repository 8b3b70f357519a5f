/* SPDX-License-Identifier: MIT */
/*
 * Functions without call frame information, in the ways that hand-written assembly leaves frames. Each takes a number and
 * returns one, so that their work can be checked too; what it calls is `plain_leaf`.
 *
 * Nothing here has .cfi directives, on purpose: the frames are found without.
 */
	.text
	.globl functions_begin, functions_end
functions_begin:

#define FUNCTION(name)	.p2align 4; .globl name; .type name, @function; name:
#define END(name)	.size name, . - name

FUNCTION(plain_leaf)
	lea	1(%rdi), %rax
	ret
END(plain_leaf)

FUNCTION(aligned_call)
	sub	$8, %rsp
	call	plain_leaf
	add	$8, %rsp
	ret
END(aligned_call)

FUNCTION(endbr_and_pushes)
	endbr64
	push	%rbx
	push	%r12
	push	%r13
	mov	%rdi, %rbx
	call	plain_leaf
	mov	%rax, %r12
	mov	%rbx, %rdi
	call	plain_leaf
	lea	(%rax,%r12), %rax
	pop	%r13
	pop	%r12
	pop	%rbx
	ret
END(endbr_and_pushes)

FUNCTION(frame_pointer)
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	push	%r15
	sub	$0x40, %rsp
	mov	%rdi, -0x20(%rbp)
	mov	%rdi, %rbx
	call	plain_leaf
	mov	%rax, %r15
	mov	%r15, -0x28(%rbp)
	mov	-0x28(%rbp), %rax
	lea	-0x10(%rbp), %rsp
	pop	%r15
	pop	%rbx
	pop	%rbp
	ret
END(frame_pointer)

FUNCTION(leave_after_alloca)
	push	%rbp
	mov	%rsp, %rbp
	mov	%rbx, -8(%rbp)
	sub	$0x10, %rsp
	mov	%rdi, %rbx
	and	$0x70, %edi
	sub	%rdi, %rsp
	and	$-32, %rsp
	mov	%rbx, %rdi
	call	plain_leaf
	mov	-8(%rbp), %rbx
	leave
	ret
END(leave_after_alloca)

FUNCTION(saved_by_moves)
	lea	-0x38(%rsp), %rsp
	mov	%rbx, 0x20(%rsp)
	mov	%rbp, 0x28(%rsp)
	mov	%r14, 0x30(%rsp)
	mov	%rdi, %rbp
	xor	%ebx, %ebx
	mov	$3, %r14d
1:	lea	(%rbx,%rbp), %rdi
	call	plain_leaf
	add	%rax, %rbx
	dec	%r14
	jnz	1b
	mov	%rbx, %rax
	mov	0x20(%rsp), %rbx
	mov	0x28(%rsp), %rbp
	mov	0x30(%rsp), %r14
	lea	0x38(%rsp), %rsp
	repz ret
END(saved_by_moves)

/* An early return before the frame is made, and one in the middle of it. */
FUNCTION(wrapped)
	test	$1, %dil
	jnz	2f
	push	%rbx
	sub	$0x20, %rsp
	mov	%rdi, %rbx
	call	plain_leaf
	cmp	$5, %rax
	ja	1f
	add	%rbx, %rax
	add	$0x20, %rsp
	pop	%rbx
	ret
1:	sub	%rbx, %rax
	add	$0x20, %rsp
	pop	%rbx
	ret
2:	mov	%rdi, %rax
	ret
END(wrapped)

/* Jumps forth and back, and a tail call. */
FUNCTION(jumps)
	push	%r12
	jmp	2f
1:	mov	%r12, %rdi
	pop	%r12
	jmp	plain_leaf
2:	mov	%rdi, %r12
	cmp	$100, %rdi
	jb	1b
	call	plain_leaf
	jmp	1b
END(jumps)

/* A call that leaves the stack unaligned, as those between assembly functions do. */
FUNCTION(unaligned_call)
	call	plain_leaf
	push	%rdi
	push	%rax
	pop	%rcx
	pop	%rdx
	mov	%rcx, %rax
	ret
END(unaligned_call)

FUNCTION(stack_arguments)
	push	%rbp
	mov	%rdi, %rbp
	pushq	$2
	push	%rdi
	call	plain_leaf
	add	$16, %rsp
	push	%rax
	pushfq
	popfq
	pop	%rax
	mov	%rbp, %rdi
	pop	%rbp
	ret
END(stack_arguments)

FUNCTION(system_call)
	push	%rbx
	mov	%rdi, %rbx
	mov	$39, %eax
	syscall
	mov	%rbx, %rax
	pop	%rbx
	ret
END(system_call)

/* The last instruction is the call of something that does not return; what comes after is another function. */
FUNCTION(ends_with_call)
	sub	$24, %rsp
	test	%rdi, %rdi
	js	1f
	call	plain_leaf
	add	$24, %rsp
	ret
1:	call	abort@PLT
END(ends_with_call)

FUNCTION(after_that)
	push	%rbx
	mov	%rdi, %rbx
	lea	(%rbx,%rbx), %rax
	pop	%rbx
	ret
END(after_that)

/* Vectors and strings: nothing of them touches the frame. */
FUNCTION(vectors)
	push	%rbp
	mov	%rsp, %rbp
	sub	$0x40, %rsp
	movq	%rdi, %xmm0
	punpcklqdq %xmm0, %xmm0
	movaps	%xmm0, -0x20(%rbp)
	movups	%xmm0, -0x38(%rbp)
	cld
	lea	-0x20(%rbp), %rsi
	lea	-0x40(%rbp), %rdi
	mov	$2, %ecx
	rep movsq
	movq	%xmm0, %rax
	pop	%rcx
	push	%rcx
	leave
	ret
END(vectors)

functions_end:
	.section .note.GNU-stack, "", @progbits
