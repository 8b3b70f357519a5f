/* SPDX-License-Identifier: MIT */
/* The signal handlers: one for each instruction of the program, and one that comes before each of the program's own. */
#include "oracle.h"

#define TRAP_FLAG 0x100
#define TRAP_TRACED 2 /* si_code of a single step */

static bool is_over(void)
{
    uint64_t limit = step_area->options.steps;
    return limit != 0 && __atomic_load_n(&step_area->steps, __ATOMIC_RELAXED) >= limit;
}

/* A static program has no thread control block yet when it starts, and walkers may use it. */
static bool has_thread_pointer(struct step_thread *t)
{
    if (!t->has_thread_pointer) {
        uintptr_t base = 0;
        step_syscall(SYS_arch_prctl, 0x1003 /* ARCH_GET_FS */, (long)&base, 0, 0, 0, 0);
        t->has_thread_pointer = base != 0;
    }
    return t->has_thread_pointer;
}

/* The words that lead from an address to the return addresses of the innermost frames would be believed by a walker
 * that takes any word for the frame's own. All below SP is dead when a function is entered. */
static void fill(const struct step_thread *t, uint32_t bytes)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct step_region region = step_strand_top(t->strand)->region;
    const struct step_strand *s = t->strand;
    if (t->sp % 8 != 0 || t->sp - here < bytes + 65536 || t->sp - region.low < bytes + 65536 || s->n == 0)
        return;
    uint32_t top = s->n - 1;
    for (uintptr_t a = t->sp - bytes; a < t->sp; a += 8) {
        uint32_t choice = (uint32_t)(a >> 3) % 4;
        uintptr_t target = a + (a * 37 & 0x7F8);
        if (choice < 3 && choice <= top && s->entries[top - choice].kind == STEP_CALL)
            target = s->entries[top - choice].at;
        uint64_t length = (target - a) / 8;
        *(uint64_t *)a = UINT64_C(0xFFFFFFFFA5C00000) | (a >> 7 & 15) << 16 | (length <= 0xFFFF ? length : 4);
    }
}

static struct step_thread *thread_of(ucontext_t *context)
{
    struct step_thread *t = step_thread_current(&context->uc_stack);
    if (t != NULL)
        return t;
    t = step_thread_adopt((uintptr_t)context->uc_mcontext.gregs[REG_RSP]);
    if (t == NULL)
        return NULL;
    if ((context->uc_stack.ss_flags & SS_DISABLE) != 0 && !step_area->options.same_stack)
        context->uc_stack = t->own_stack;
    return t;
}

void step_trap(int number, siginfo_t *info, void *data)
{
    (void)number;
    ucontext_t *context = data;
    greg_t *regs = context->uc_mcontext.gregs;
    if (info->si_code != TRAP_TRACED)
        return;
    struct step_thread *t = is_over() ? NULL : thread_of(context);
    if (t == NULL) {
        regs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    do {
        uintptr_t before = t->sp;
        bool repeated = step_follow(t, (uintptr_t)regs[REG_RIP], (uintptr_t)regs[REG_RSP]) == STEP_REPEATED;
        __atomic_fetch_add(repeated ? &step_area->repeats : &step_area->steps, 1, __ATOMIC_RELAXED);
        if (repeated)
            return;
        t->step++;
        if (step_area->options.fill != 0 && t->sp + 8 == before && t->strand->n > 0 &&
            t->strand->entries[t->strand->n - 1].at == t->sp)
            fill(t, step_area->options.fill);
        if (has_thread_pointer(t))
            step_judge(t, context);
        step_judge_pending(t, false);
    } while (step_system_call(t, context));
}

static void default_action(int number)
{
    struct step_kernel_action none = {0, 0, 0, 0};
    step_syscall(SYS_rt_sigaction, number, (long)&none, 0, 8, 0, 0);
}

static void unblock_trap(void)
{
    uint64_t mask = step_signal_bit(SIGTRAP);
    step_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&mask, 0, 8, 0, 0);
}

uintptr_t step_signal_entered(int number, siginfo_t *info, void *data, uintptr_t sp)
{
    (void)info;
    ucontext_t *context = data;
    struct step_thread *t = step_thread_current(&context->uc_stack);
    if (t != NULL && t->walking) {
        t->walking = false;
        __builtin_longjmp(t->recovery, 1);
    }
    uintptr_t handler = step_handler_of(number);
    if (handler <= 1) { /* a fault of the program's that it does not handle */
        if (t != NULL)
            step_judge_pending(t, true);
        default_action(number);
        return 0;
    }
    greg_t *regs = context->uc_mcontext.gregs;
    if (t == NULL || is_over() || (regs[REG_EFL] & TRAP_FLAG) == 0)
        return handler | UINT64_C(1) << 63;
    step_finish_sigreturn(t);
    struct step_region region = step_strand_top(t->strand)->region;
    if (!step_region_has_sp(region, sp))
        region = step_region_find(sp - 1);
    step_strand_signal(t->strand, (uintptr_t)regs[REG_RIP], (uintptr_t)regs[REG_RSP], sp, region);
    step_strand_call(t->strand, sp, *(const uintptr_t *)sp);
    t->fresh = true;
    __atomic_fetch_add(&step_area->signals, 1, __ATOMIC_RELAXED);
    unblock_trap();
    return handler;
}
