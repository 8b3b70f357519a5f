/* SPDX-License-Identifier: MIT */
/* Case 4: rbp used for anything, with a plausible address just above the stack in it, where nothing can be read. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tap.h"
#include "walks.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

/* In the first the CFA is told by rsp: rbp is any number. In the second CFI says, wrongly, that rbp has it. */
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".type scratch, @function\n"
    "scratch: .cfi_startproc\n pushq %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset %rbp, -16\n movq %rdi, %rbp\n ud2\n"
    " popq %rbp\n .cfi_restore %rbp\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc\n"
    ".type misled, @function\n"
    "misled: .cfi_startproc\n pushq %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset %rbp, -16\n movq %rdi, %rbp\n"
    " .cfi_def_cfa %rbp, 16\n ud2\n .cfi_def_cfa %rsp, 16\n popq %rbp\n .cfi_restore %rbp\n"
    " .cfi_def_cfa_offset 8\n ret\n .cfi_endproc\n");
void scratch(uintptr_t rbp) __asm__("scratch");
void misled(uintptr_t rbp) __asm__("misled");

static struct walk walked;

static void on_illegal(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    ucontext_t *context = data;
    walked.n = sp_walk(data, walked.frames, WALK_MOST, &walked.end);
    context->uc_mcontext.gregs[REG_RIP] += 2;
}

static uintptr_t stack_lo, stack_hi;

static NOINLINE void try_all(void)
{
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    const uintptr_t values[] = {stack_hi + 0xf00,
                                stack_hi,
                                stack_hi - 8,
                                stack_hi - 1,
                                stack_hi - 16,
                                stack_lo - 8,
                                stack_lo - 16,
                                0,
                                1,
                                ~UINT64_C(0),
                                UINT64_C(1) << 63,
                                UINT64_C(0x7ffffffff000),
                                ~UINT64_C(0) - 7,
                                16,
                                (uintptr_t)try_all};
    handle(SIGILL, on_illegal, 0);
    for (unsigned i = 0; i < 3 * sizeof values / sizeof values[0]; i++) {
        uintptr_t rbp = values[i / 3];
        scratch(rbp);
        EXPECT(walked.end == SP_END_OUTERMOST && walked.n == here.n + 1 && walk_ends_with(&walked, &here, 1),
               "rbp %#lx: %d frames, end: %s", (unsigned long)rbp, walked.n, sp_end_name(walked.end));
        misled(rbp);
        EXPECT(walked.end != SP_END_OUTERMOST, "misled by rbp %#lx, and called whole", (unsigned long)rbp);
    }
}

static void *in_thread(void *data)
{
    try_all();
    return data;
}

static void with_a_guard_above(void)
{
    enum { SIZE = 1 << 18 };
    char *pages = mmap(NULL, SIZE + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(pages != MAP_FAILED && mprotect(pages + 4096, SIZE, PROT_READ | PROT_WRITE) == 0, "no memory");
    stack_lo = (uintptr_t)pages + 4096;
    stack_hi = stack_lo + SIZE;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, pages + 4096, SIZE);
    EXPECT(pthread_create(&thread, &attributes, in_thread, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void in_the_first_thread(void)
{
    /* Below all frames: a true frame's address would be that of a caller which has jumped here. */
    stack_lo = ((uintptr_t)__builtin_frame_address(0) & ~UINT64_C(4095)) - (1 << 16);
    /* The kernel's mapping ends at a page; the next one is not mapped. */
    stack_hi = stack_lo + (64 << 20);
    try_all();
}

int main(void)
{
    tap_case("in a thread, with a page above that can't be read", with_a_guard_above);
    tap_case("in the first thread", in_the_first_thread);
    return tap_end();
}
