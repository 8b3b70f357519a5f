/* SPDX-License-Identifier: MIT */
#include "imports/first_stack.h"

#include <spwalk.h>

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

static unsigned char own_stack[64 << 10] __attribute__((aligned(64)));
static atomic_flag is_in_use = ATOMIC_FLAG_INIT;

struct request {
    struct imports_object *library;
    const struct imports_arguments *arguments;
    uintptr_t returns_to, sp;
};

/* Walks from imports_enter_first_call, whose CFI leads to its caller: then the call is one, not an interrupted pc. */
static int walk(const struct request *request, void **pcs)
{
    const struct imports_arguments *arguments = request->arguments;
    ucontext_t context;
    memset(&context, 0, sizeof context);
    greg_t *registers = context.uc_mcontext.gregs;
    registers[REG_RIP] = (greg_t)request->returns_to;
    registers[REG_RSP] = (greg_t)request->sp;
    registers[REG_RBP] = (greg_t)&arguments->rbp;
    registers[REG_RBX] = (greg_t)arguments->rbx;
    registers[REG_R12] = (greg_t)arguments->r12;
    registers[REG_R13] = (greg_t)arguments->r13;
    registers[REG_R14] = (greg_t)arguments->r14;
    registers[REG_R15] = (greg_t)arguments->r15;
    return sp_backtrace_context(&context, pcs, IMPORTS_STACK_MAX);
}

static void store(void *argument)
{
    const struct request *request = argument;
    struct imports_object *library = request->library;
    uint64_t *stack = library->first_stack, from = request->arguments->return_address;
    int depth = walk(request, (void **)stack), own = 0;
    library->first_is_cut = depth == IMPORTS_STACK_MAX;
    while (own < depth && stack[own] != from)
        own++;
    if (own == depth) {
        stack[0] = from;
        library->first_depth = 1;
        library->first_is_cut = 1;
        return;
    }
    memmove(stack, stack + own, (size_t)(depth - own) * sizeof *stack);
    library->first_depth = depth - own;
}

void imports_first_stack(struct imports_object *library, const struct imports_arguments *arguments,
                         uintptr_t returns_to, uintptr_t sp)
{
    struct request request = {library, arguments, returns_to, sp};
    sigset_t all, before;
    if (atomic_flag_test_and_set(&is_in_use)) {
        store(&request);
        return;
    }
    /* A handler would run on this stack, and be surprised. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    imports_run_on(own_stack + sizeof own_stack, store, &request);
    atomic_flag_clear(&is_in_use);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void imports_first_stack_child(void)
{
    atomic_flag_clear(&is_in_use);
}
