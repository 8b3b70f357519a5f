/* SPDX-License-Identifier: MIT */
/*
 * A walk interrupted at each of its instructions by a handler that walks, on the same thread: the handler's walk goes
 * through the walker's own frames and is right, and the interrupted walk's answer is what it is undisturbed.
 */
#include "../cases/tap.h"
#include "../cases/walks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* CFA in rbx: the walk is started anew, with all registers. */
__asm__(".text\n"
        ".p2align 4\n"
        ".type by_rbx, @function\n"
        "by_rbx: .cfi_startproc\n pushq %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset %rbx, -16\n movq %rsp, %rbx\n"
        " .cfi_def_cfa_register %rbx\n subq $48, %rsp\n call *%rdi\n movq %rbx, %rsp\n .cfi_def_cfa_register %rsp\n"
        " popq %rbx\n .cfi_restore %rbx\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc\n"
        /* No CFI: the code is read. */
        ".type bare, @function\n"
        "bare: pushq %r12\n subq $32, %rsp\n call *%rdi\n addq $32, %rsp\n popq %r12\n ret\n");
void by_rbx(void (*f)(void)) __asm__("by_rbx");
void bare(void (*f)(void)) __asm__("bare");

static struct walk stepped, undisturbed;
static void *pcs[WALK_MOST];
static int pc_count;
static ucontext_t context;

static NOINLINE void walk(void *unused)
{
    (void)unused;
    stepped.n = sp_walk(NULL, stepped.frames, WALK_MOST, &stepped.end);
    pc_count = sp_backtrace(pcs, WALK_MOST);
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void walk_context(void *unused)
{
    (void)unused;
    stepped.n = sp_walk(&context, stepped.frames, WALK_MOST, &stepped.end);
    pc_count = sp_backtrace_context(&context, pcs, WALK_MOST);
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void step_once(void (*f)(void *))
{
    struct tally tally = walk_each_step(f, NULL);
    EXPECT(tally.wrong == 0 && tally.marked == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong, tally.walks,
           tally.marked);
    EXPECT(tally.walks > 100, "only %ld steps", tally.walks);
}

static NOINLINE void compare(int skip)
{
    EXPECT(stepped.end == undisturbed.end && stepped.n == undisturbed.n, "%d frames, end: %s; undisturbed %d, %s",
           stepped.n, sp_end_name(stepped.end), undisturbed.n, sp_end_name(undisturbed.end));
    EXPECT(pc_count == stepped.n, "sp_backtrace: %d", pc_count);
    for (int i = skip; i < stepped.n; i++)
        EXPECT(stepped.frames[i].pc == undisturbed.frames[i].pc && stepped.frames[i].sp == undisturbed.frames[i].sp &&
                   (uintptr_t)pcs[i] == stepped.frames[i].pc,
               "frame %d is another", i);
}

static NOINLINE void step_own_walk(void)
{
    for (volatile int i = 0; i < 4; i++) {
        step_once(walk);
        if (i == 0)
            undisturbed = stepped;
        compare(1);
        struct walk now;
        now.n = sp_walk(NULL, now.frames, WALK_MOST, &now.end);
        EXPECT(stepped.end == now.end && walk_ends_with(&stepped, &now, 1), "other callers than undisturbed");
    }
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void step_context_walk(void)
{
    getcontext(&context);
    undisturbed.n = sp_walk(&context, undisturbed.frames, WALK_MOST, &undisturbed.end);
    for (int i = 0; i < 3; i++) {
        step_once(walk_context);
        compare(0);
    }
}

static void shallow(void)
{
    step_own_walk();
    step_context_walk();
}

static void deep(void)
{
    /* Frames that the memory has, more of them, fewer. */
    go_deeper(30, step_own_walk);
    go_deeper(45, step_context_walk);
    go_deeper(10, step_own_walk);
}

static void with_all_registers(void)
{
    by_rbx(step_own_walk);
    by_rbx(step_context_walk);
}

static void with_code_read(void)
{
    bare(step_own_walk);
    bare(step_context_walk);
}

static void *thread_body(void *data)
{
    /* A thread's first walks: its memory is made here. */
    step_own_walk();
    step_context_walk();
    return data;
}

static void first_walks(void)
{
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        EXPECT(pthread_create(&thread, NULL, thread_body, NULL) == 0, "no thread");
        pthread_join(thread, NULL);
    }
}

static void through_a_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW);
    EXPECT(library != NULL, "%s", dlerror());
    int (*call)(void (*)(void));
    *(void **)&call = dlsym(library, "library_call");
    call(step_own_walk);
    dlclose(library);
    library = dlopen(LIBRARY, RTLD_NOW);
    EXPECT(library != NULL, "%s", dlerror());
    *(void **)&call = dlsym(library, "library_call");
    call(step_context_walk);
}

static void on_the_same_stack(void)
{
    step_flags = 0;
    step_own_walk();
    go_deeper(20, step_context_walk);
    by_rbx(step_own_walk);
}

int main(void)
{
    tap_case("a walk of a shallow stack", shallow);
    tap_case("walks of deep stacks, from memory", deep);
    tap_case("a walk with all registers", with_all_registers);
    tap_case("a walk that reads code", with_code_read);
    tap_case("a thread's first walks", first_walks);
    tap_case("a walk through a library that may be unloaded", through_a_library);
    tap_case("handlers on the stack that is walked", on_the_same_stack);
    return tap_end();
}
