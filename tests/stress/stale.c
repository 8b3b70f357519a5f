/* SPDX-License-Identifier: MIT */
/* Walks of a thread that has kept what is not so: another rbp, a stack that is gone, outermost frames that are not. */
#include "walk/thread.h"

#include "../cases/tap.h"
#include "../cases/walks.h"
#include "without_memory.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static void *pcs[WALK_MOST];
static struct walk true_walk;

static void compare(const char *what, int n, int from)
{
    EXPECT(n == true_walk.n, "%s: %d frames; without memory %d", what, n, true_walk.n);
    for (int i = from; i < n; i++)
        EXPECT((uintptr_t)pcs[i] == true_walk.frames[i].pc, "%s: frame %d is another", what, i);
}

static void compare_context(const char *what, const ucontext_t *context)
{
    const struct sp_memory *memory = sp_thread.memory;
    bool is_kept = memory != NULL && sp_thread.unkept == 0;
    int n = sp_backtrace_context(context, pcs, WALK_MOST);
    EXPECT(!is_kept || (memory->start_pc == (uintptr_t)context->uc_mcontext.gregs[REG_RIP] &&
                        memory->start_sp == (uintptr_t)context->uc_mcontext.gregs[REG_RSP] && memory->is_interrupted),
           "%s: another start is kept", what);
    walk_without_memory(context, &true_walk, WALK_MOST);
    compare(what, n, 0);
}

static NOINLINE void compare_own(const char *what)
{
    int n = sp_backtrace(pcs, WALK_MOST);
    walk_without_memory(NULL, &true_walk, WALK_MOST);
    compare(what, n, 1);
}

__asm__(".text\n"
        ".p2align 4\n"
        /* Has no word. */
        ".type wordless, @function\n"
        "wordless: .cfi_startproc\n subq $24, %rsp\n .cfi_def_cfa_offset 32\n call *%rsi\n addq $24, %rsp\n"
        " .cfi_def_cfa_offset 8\n ret\n .cfi_endproc\n"
        /* Returns to where another function begins. */
        ".type ends_in_call, @function\n"
        "ends_in_call: .cfi_startproc\n pushq %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset %rbp, -16\n"
        " movq %rsp, %rbp\n .cfi_def_cfa_register %rbp\n subq $32, %rsp\n call *%rdi\n .cfi_endproc\n"
        ".type another, @function\n"
        /* Interrupted where its call returns to. */
        ".type trap_after_call, @function\n"
        "trap_after_call: .cfi_startproc\n pushq %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset %rbx, -16\n"
        " pushq %r12\n .cfi_def_cfa_offset 24\n .cfi_offset %r12, -24\n subq $8, %rsp\n .cfi_def_cfa_offset 32\n"
        " movq %rdi, %rbx\n movl $4, %r12d\n 1: call *%rbx\n ud2\n decl %r12d\n jnz 1b\n addq $8, %rsp\n"
        " .cfi_def_cfa_offset 24\n popq %r12\n .cfi_def_cfa_offset 16\n popq %rbx\n .cfi_def_cfa_offset 8\n ret\n"
        " .cfi_endproc\n"
        ".type another, @function\n"
        "another: .cfi_startproc\n ret\n .cfi_endproc\n");
int wordless(int argument, int (*f)(int)) __asm__("wordless");
void ends_in_call(void (*f)(void)) __asm__("ends_in_call");
void trap_after_call(void (*f)(void)) __asm__("trap_after_call");

/* Interrupted in a frame whose CFA is rbp + 16: with another rbp its caller is a frame further out. */
static volatile int traps;

static void on_trap(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    ucontext_t other = *(const ucontext_t *)data;
    for (int i = 0; i < 3; i++) {
        compare_context("the frame's rbp", data);
        other.uc_mcontext.gregs[REG_RBP] = (greg_t)true_walk.frames[3].sp - 16;
        compare_context("another rbp", &other);
        compare_context("the frame's rbp again", data);
        compare_own("the handler");
        compare_context("the frame's rbp after the handler", data);
        compare_context("another rbp again", &other);
    }
    EXPECT(true_walk.end == SP_END_OUTERMOST, "end: %s", sp_end_name(true_walk.end));
    traps = traps + 1;
}

static NOINLINE int variable_frame(int size)
{
    volatile char *block = alloca((size_t)size);
    block[0] = 1;
    __asm__ volatile("int3");
    return block[0];
}

static NOINLINE int trap_below(int size)
{
    volatile int local = size;
    return variable_frame(size) + local;
}

static NOINLINE void trap(void)
{
    trap_below(16);
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void trap_below_wordless(void)
{
    wordless(16, trap_below);
    __asm__ volatile("" ::: "memory");
}

static void another_rbp(void)
{
    handle(SIGTRAP, on_trap, 0);
    for (volatile int i = 0; i < 6; i++) {
        /* What is kept goes as far as the frames that come. */
        compare_own("before");
        go_deeper(20, i % 2 == 0 ? trap : trap_below_wordless);
    }
    EXPECT(traps == 6, "%d traps", traps);
}

/* An interrupted frame, and one whose call is its function's last instruction. */
static sigjmp_buf back;

static void on_trap_without_return(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    for (int i = 0; i < 6; i++) {
        if (sp_thread.memory != NULL)
            sp_thread.unkept = i % 3 == 2 ? 1 : 0;
        compare_own("the handler");
        compare_context("called for the last time", data);
    }
    EXPECT(true_walk.end == SP_END_OUTERMOST, "end: %s", sp_end_name(true_walk.end));
    traps = traps + 1;
    siglongjmp(back, 1);
}

static NOINLINE void trap_without_return(void)
{
    volatile int local = 1;
    __asm__ volatile("int3");
    local++;
}

static void a_last_call(void)
{
    handle(SIGTRAP, on_trap_without_return, 0);
    for (volatile int i = 0; i < 4; i++)
        if (sigsetjmp(back, 1) == 0)
            ends_in_call(trap_without_return);
    EXPECT(traps == 4, "%d traps", traps);
}

/* A frame that was interrupted where now a call returns to. */
static void on_illegal(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    ucontext_t *context = data;
    for (int i = 0; i < 3; i++)
        compare_context("after the call", context);
    context->uc_mcontext.gregs[REG_RIP] += 2;
    traps = traps + 1;
}

static NOINLINE void compare_frames(void)
{
    static struct walk walk;
    compare_own("in the call");
    walk.n = sp_walk(NULL, walk.frames, WALK_MOST, &walk.end);
    walk_without_memory(NULL, &true_walk, WALK_MOST);
    EXPECT(walk.n == true_walk.n, "%d frames; without memory %d", walk.n, true_walk.n);
    for (int i = 0; i < walk.n; i++)
        EXPECT(walk.frames[i].sp == true_walk.frames[i].sp && walk.frames[i].interrupted == 0, "frame %d is another",
               i);
}

static NOINLINE void compare_frames_twice(void)
{
    compare_frames();
    compare_frames();
    __asm__ volatile("" ::: "memory");
}

static void a_call_where_it_was_interrupted(void)
{
    handle(SIGILL, on_illegal, 0);
    trap_after_call(compare_frames_twice);
    trap_after_call(compare_frames_twice);
    EXPECT(traps == 8, "%d traps", traps);
}

/* A coroutine's stack that lies above the thread's own, and then is no more. */
enum { COROUTINE = 256 * 1024 };

static ucontext_t thread_context, coroutine_context;

static void compare_own_once(void)
{
    compare_own("a coroutine");
    __asm__ volatile("" ::: "memory");
}

static void walk_in_coroutine(void)
{
    for (volatile int i = 0; i < 3; i++)
        go_deeper(20, compare_own_once);
}

static void *walk_after_coroutine(void *stack)
{
    EXPECT((uintptr_t)&stack < (uintptr_t)stack, "the coroutine's stack is the lower one");
    compare_own("before the coroutine");
    getcontext(&coroutine_context);
    coroutine_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = COROUTINE};
    coroutine_context.uc_link = &thread_context;
    makecontext(&coroutine_context, walk_in_coroutine, 0);
    swapcontext(&thread_context, &coroutine_context);
    EXPECT(sp_thread.memory != NULL && sp_thread.memory->is_whole &&
               sp_thread.memory->start_sp - (uintptr_t)stack < COROUTINE,
           "the coroutine's walk is not kept");
    munmap(stack, COROUTINE);
    compare_own("after the coroutine");
    return NULL;
}

static void a_stack_that_is_gone(void)
{
    pthread_t thread;
    char *stack = mmap(NULL, COROUTINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(stack != MAP_FAILED, "no memory");
    EXPECT(pthread_create(&thread, NULL, walk_after_coroutine, stack) == 0, "no thread");
    pthread_join(thread, NULL);
}

/* The outermost frames are known apart: each number of them is a guess. */
static NOINLINE void guess(struct sp_memory *memory)
{
    uint64_t decoy[SP_OUTERMOST] = {0};
    const uint32_t count = memory->outermost;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t pc = memory->outermost_pc[i];
        uint64_t *slot = (uint64_t *)memory->outermost_slot[i];
        sp_thread.unkept = 9;
        compare_own("right guesses");
        memory->outermost_pc[i] = pc + 1;
        compare_own("another pc");
        memory->outermost_pc[i] = pc;
        memory->outermost_slot[i] = (uintptr_t)&decoy[i];
        compare_own("another slot");
        memory->outermost_slot[i] = (uintptr_t)slot;
        /* A damaged stack is another one. */
        *slot = 1;
        compare_own("damaged");
        *slot = pc;
    }
    /* Frames that are elsewhere, and are there. */
    uintptr_t slots[SP_OUTERMOST];
    memcpy(slots, memory->outermost_slot, sizeof slots);
    for (unsigned i = 0; i < count; i++) {
        decoy[i] = memory->outermost_pc[i] + (i != 0);
        memory->outermost_pc[i] = decoy[i];
        memory->outermost_slot[i] = (uintptr_t)&decoy[i];
    }
    compare_own("frames elsewhere");
    for (unsigned i = 0; i < count; i++) {
        memory->outermost_pc[i] -= i != 0;
        memory->outermost_slot[i] = slots[i];
    }
    compare_own("right guesses");
}

static void *walk_and_guess(void *none)
{
    for (volatile int i = 0; i < 3; i++)
        compare_own("at first");
    guess(sp_thread.memory);
    return none;
}

static void outermost_frames(void)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, walk_and_guess, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
    walk_and_guess(NULL);
}

/* Walks that are not kept are so many, whatever way they go. */
static void walk_until_kept(void)
{
    enum { UNKEPT = 7 };
    for (volatile int i = 0; i < 3; i++)
        compare_own("at first");
    for (unsigned outermost = 0; outermost < 2; outermost++) {
        if (outermost == 0)
            sp_thread.memory->outermost = 0;
        sp_thread.unkept = UNKEPT;
        for (int i = UNKEPT - 1; i >= 0; i--) {
            EXPECT(sp_backtrace(pcs, WALK_MOST) > 3, "no walk");
            EXPECT(sp_thread.unkept == i, "%d walks are not kept, not %d", sp_thread.unkept, i);
        }
        EXPECT(sp_backtrace(pcs, WALK_MOST) > 3 && sp_thread.unkept == 0, "%d walks are not kept", sp_thread.unkept);
    }
}

static void walks_that_are_not_kept(void)
{
    go_deeper(5, walk_until_kept);
}

int main(void)
{
    tap_case("an interrupted frame with another rbp", another_rbp);
    tap_case("a function that ends in a call", a_last_call);
    tap_case("a call where the frame was interrupted", a_call_where_it_was_interrupted);
    tap_case("a stack that is gone", a_stack_that_is_gone);
    tap_case("other outermost frames", outermost_frames);
    tap_case("how many walks are not kept", walks_that_are_not_kept);
    return tap_end();
}
