/* SPDX-License-Identifier: MIT */
/*
 * System calls that would end the stepping, or that tell how the truth goes on.
 *
 * A blocked SIGTRAP kills at the next instruction, so whatever changes the signal mask is done here without it; the
 * handlers that the program installs are entered through step_signal_thunk, which sets the trap flag in them too. The
 * kernel clears it for a handler, and restores it with the rest at rt_sigreturn.
 */
#include "oracle.h"

#define SIGNALS 65
#define HANDLER_IGNORE 1 /* SIG_DFL and SIG_IGN are 0 and 1 */

static uintptr_t handlers[SIGNALS];
static struct step_kernel_action faults[SIGNALS]; /* what the program asked for of signals whose action stays ours */

static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS;
}

static long action(int number, const struct step_kernel_action *new_action, struct step_kernel_action *old_action)
{
    return step_syscall(SYS_rt_sigaction, number, (long)new_action, (long)old_action, 8, 0, 0);
}

/* Makes the thunk the handler; remembers the program's. */
static long install(int number, const struct step_kernel_action *asked)
{
    struct step_kernel_action real = *asked;
    real.mask &= ~(step_signal_bit(SIGTRAP) | step_signal_bit(SIGSEGV) | step_signal_bit(SIGBUS));
    if (real.handler > HANDLER_IGNORE) {
        __atomic_store_n(&handlers[number], real.handler, __ATOMIC_RELEASE);
        real.handler = (uintptr_t)step_signal_thunk;
    } else if (is_fault(number)) {
        __atomic_store_n(&handlers[number], real.handler, __ATOMIC_RELEASE);
        real.handler = (uintptr_t)step_signal_thunk;
        real.flags = 0x04000000 /* SA_RESTORER */ | SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        real.restorer = (uintptr_t)step_restorer;
    }
    /* A walker's fault in the trap's handler must be deliverable there. */
    if (is_fault(number))
        real.flags |= SA_NODEFER;
    return action(number, &real, NULL);
}

uintptr_t step_handler_of(int number)
{
    return __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE);
}

void step_take_handlers(void)
{
    for (int i = 1; i < SIGNALS; i++) {
        struct step_kernel_action now;
        if (i == SIGTRAP || i == SIGKILL || i == SIGSTOP || action(i, NULL, &now) != 0)
            continue;
        faults[i] = now;
        if (is_fault(i) || now.handler > HANDLER_IGNORE)
            install(i, &now);
    }
}

static long emulate_sigaction(int number, const struct step_kernel_action *asked, struct step_kernel_action *old,
                              long size)
{
    if (number <= 0 || number >= SIGNALS || size != 8)
        return -22;
    struct step_kernel_action now;
    long result = action(number, NULL, &now);
    if (result != 0)
        return result;
    if (number == SIGTRAP || is_fault(number))
        now = faults[number];
    else if (now.handler == (uintptr_t)step_signal_thunk)
        now.handler = handlers[number];
    struct step_kernel_action want;
    if (asked != NULL)
        want = *asked;
    if (old != NULL)
        *old = now;
    if (asked == NULL)
        return 0;
    if (number == SIGTRAP || is_fault(number))
        faults[number] = want;
    return number == SIGTRAP ? 0 : install(number, &want);
}

static long emulate_sigprocmask(ucontext_t *context, int how, const uint64_t *set, uint64_t *old, long size)
{
    uint64_t *mask = (uint64_t *)&context->uc_sigmask;
    uint64_t now = *mask;
    if (size != 8)
        return -22;
    uint64_t next = now;
    if (set != NULL) {
        if (how == SIG_BLOCK)
            next |= *set;
        else if (how == SIG_UNBLOCK)
            next &= ~*set;
        else if (how == SIG_SETMASK)
            next = *set;
        else
            return -22;
    }
    if (old != NULL)
        *old = now;
    *mask = next & ~(step_signal_bit(SIGTRAP) | step_signal_bit(SIGSEGV) | step_signal_bit(SIGBUS) |
                     step_signal_bit(SIGKILL) | step_signal_bit(SIGSTOP));
    return 0;
}

static bool is_on(const stack_t *stack, uintptr_t sp)
{
    return (stack->ss_flags & SS_DISABLE) == 0 && sp - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/* The kernel installs the context's uc_stack when the trap's handler returns. */
static long emulate_sigaltstack(struct step_thread *t, ucontext_t *context, const stack_t *asked, stack_t *old)
{
    stack_t now = t->app_stack;
    stack_t want = now;
    if (asked != NULL)
        want = *asked;
    if (old != NULL) {
        *old = now;
        if (is_on(&now, t->sp))
            old->ss_flags = SS_ONSTACK;
    }
    if (asked == NULL)
        return 0;
    if (is_on(&now, t->sp))
        return -1; /* EPERM */
    if ((want.ss_flags & ~SS_DISABLE) != 0 && want.ss_flags != SS_ONSTACK)
        return -22;
    if ((want.ss_flags & SS_DISABLE) == 0 && want.ss_size < 2048)
        return -12; /* ENOMEM */
    want.ss_flags &= SS_DISABLE;
    t->app_stack = want;
    context->uc_stack = (want.ss_flags & SS_DISABLE) != 0 ? t->own_stack : want;
    return 0;
}

static void expect_child(struct step_thread *t, const greg_t *regs)
{
    struct step_birth birth = {.child_sp = t->sp};
    switch (regs[REG_RAX]) {
    case SYS_clone:
        birth.flags = (uint64_t)regs[REG_RDI];
        if (regs[REG_RSI] != 0) {
            birth.child_sp = (uintptr_t)regs[REG_RSI];
            birth.own_stack = true;
        }
        break;
    case SYS_vfork:
        birth.flags = 0x4100; /* CLONE_VM | CLONE_VFORK */
        break;
    case SYS_clone3: {
        const uint64_t *args = (const uint64_t *)regs[REG_RDI]; /* flags, pidfd, tids and signal, stack, size */
        birth.flags = args[0];
        if (args[5] != 0) {
            birth.child_sp = args[5] + args[6];
            birth.own_stack = true;
            birth.region = (struct step_region){args[5], birth.child_sp};
        }
        break;
    }
    default:
        break;
    }
    step_thread_expect(t, &birth);
}

/* The frame that the kernel made lies at SP; the restorer has popped its own address. */
static void note_sigreturn(struct step_thread *t)
{
    const ucontext_t *to = (const ucontext_t *)t->sp;
    t->sigreturn = true;
    t->sigreturn_pc = (uintptr_t)to->uc_mcontext.gregs[REG_RIP];
    t->sigreturn_sp = (uintptr_t)to->uc_mcontext.gregs[REG_RSP];
}

static void note_makecontext(const ucontext_t *target)
{
    uintptr_t low = (uintptr_t)target->uc_stack.ss_sp;
    struct step_region region = {low, low + target->uc_stack.ss_size};
    if (step_region_declared(low).high != region.high)
        step_region_declare(region);
    struct step_strand *old = step_strand_find(region);
    if (old != NULL)
        step_strand_reset(old);
}

bool step_system_call(struct step_thread *t, ucontext_t *context)
{
    greg_t *regs = context->uc_mcontext.gregs;
    if (t->at_makecontext) {
        t->at_makecontext = false;
        note_makecontext((const ucontext_t *)regs[REG_RDI]);
    }
    if (!step_is_syscall(t->code, t->code_size))
        return false;
    long result;
    switch (regs[REG_RAX]) {
    case SYS_rt_sigaction:
        result = emulate_sigaction((int)regs[REG_RDI], (const struct step_kernel_action *)regs[REG_RSI],
                                   (struct step_kernel_action *)regs[REG_RDX], regs[REG_R10]);
        break;
    case SYS_rt_sigprocmask:
        result = emulate_sigprocmask(context, (int)regs[REG_RDI], (const uint64_t *)regs[REG_RSI],
                                     (uint64_t *)regs[REG_RDX], regs[REG_R10]);
        break;
    case SYS_sigaltstack:
        result = emulate_sigaltstack(t, context, (const stack_t *)regs[REG_RDI], (stack_t *)regs[REG_RSI]);
        break;
    case SYS_rt_sigreturn:
        note_sigreturn(t);
        return false;
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
        expect_child(t, regs);
        return false;
    case SYS_execve:
    case SYS_execveat:
    case SYS_exit_group:
        step_judge_pending(t, true);
        return false;
    case SYS_exit:
        step_judge_pending(t, true);
        step_thread_end(t);
        return false;
    default:
        return false;
    }
    regs[REG_RAX] = result;
    regs[REG_RIP] += 2;
    regs[REG_RCX] = regs[REG_RIP];
    regs[REG_R11] = regs[REG_EFL];
    return true;
}
