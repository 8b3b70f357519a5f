/* SPDX-License-Identifier: MIT */
/* Keeps a thread's strand in step with what its last instruction did to SP and pc. */
#include "oracle.h"

#define PAGE 4096
#define REWRITTEN 4 /* innermost return addresses that are looked at after each instruction */

/* What the bytes of an instruction say, past its prefixes. */
struct instruction {
    uint8_t rex;
    uint8_t opcode;
    uint8_t modrm;
};

static struct instruction decode(const uint8_t *code, uint32_t size)
{
    struct instruction in = {0, 0, 0};
    uint32_t i = 0;
    while (i < size && (code[i] == 0xF2 || code[i] == 0xF3 || code[i] == 0x66 || code[i] == 0x2E || code[i] == 0x3E ||
                        code[i] == 0x64 || code[i] == 0x65 || code[i] == 0x67))
        i++;
    if (i < size && (code[i] & 0xF0) == 0x40)
        in.rex = code[i++];
    if (i < size)
        in.opcode = code[i++];
    if (i < size)
        in.modrm = code[i];
    return in;
}

static uint8_t reg_field(struct instruction in)
{
    return in.modrm >> 3 & 7;
}

static bool is_call(struct instruction in)
{
    return in.opcode == 0xE8 || (in.opcode == 0xFF && (reg_field(in) == 2 || reg_field(in) == 3));
}

static bool is_return(struct instruction in)
{
    return in.opcode == 0xC3 || in.opcode == 0xC2;
}

static bool is_indirect_jump(struct instruction in)
{
    return in.opcode == 0xFF && reg_field(in) == 4;
}

/* mov, xchg or pop with rsp as its destination, or leave: what switches stacks. */
static bool loads_sp(struct instruction in)
{
    bool wide = (in.rex & 8) != 0;
    bool reg_is_sp = reg_field(in) == 4 && (in.rex & 4) == 0;
    bool rm_is_sp = in.modrm >> 6 == 3 && (in.modrm & 7) == 4 && (in.rex & 1) == 0;
    switch (in.opcode) {
    case 0x8B:
        return wide && reg_is_sp;
    case 0x89:
        return wide && rm_is_sp;
    case 0x87:
        return wide && (reg_is_sp || rm_is_sp);
    case 0x94:
        return wide && (in.rex & 1) == 0;
    case 0x5C:
        return (in.rex & 1) == 0;
    case 0xC9:
        return true;
    default:
        return false;
    }
}

bool step_is_syscall(const uint8_t *code, uint32_t size)
{
    return size >= 2 && code[0] == 0x0F && code[1] == 0x05;
}

void step_look_ahead(struct step_thread *t, uintptr_t pc)
{
    uint32_t in_page = PAGE - pc % PAGE;
    t->code_size = in_page < STEP_AHEAD ? in_page : STEP_AHEAD;
    /* An instruction that lies across two pages has both mapped, but nothing says so of the bytes behind it. */
    if (t->code_size < STEP_AHEAD && step_region_has(step_region_find(pc + in_page), pc + in_page))
        t->code_size = STEP_AHEAD;
    step_copy(t->code, (const void *)pc, t->code_size);
}

void step_finish_sigreturn(struct step_thread *t)
{
    if (!t->sigreturn)
        return;
    t->sigreturn = false;
    step_strand_return_from_signal(t->strand);
    t->pc = t->sigreturn_pc;
    t->sp = t->sigreturn_sp;
    step_look_ahead(t, t->pc);
}

/* A declared stack can lie in the same mapping as the one left, or within it. */
static bool may_change_stack(const struct step_thread *t, struct instruction in, uintptr_t sp)
{
    struct step_region region = step_strand_top(t->strand)->region;
    if (!step_region_has_sp(region, sp))
        return true;
    if (!loads_sp(in) || sp == t->sp)
        return false;
    struct step_region declared = step_region_declared(sp - 1);
    return declared.high != 0 && declared.high != region.high;
}

/* True where SP is on another stack now. */
static bool change_stack(struct step_thread *t, uintptr_t sp)
{
    struct step_region region = step_region_find(sp - 1);
    struct step_segment *top = step_strand_top(t->strand);
    if (region.high == top->region.high) {
        top->region = region;
        return false;
    }
    if (region.high == 0) {
        t->strand->lost = true;
        return false;
    }
    t->transit_from = t->strand;
    if (step_strand_leave_to(t->strand, sp))
        return true;
    struct step_strand *other = step_strand_find(region);
    if (other == NULL) {
        other = step_strand_new(region);
        if (other == NULL) {
            t->strand->lost = true;
            return false;
        }
        other->open = true;
        __atomic_fetch_add(&step_area->strands, 1, __ATOMIC_RELAXED);
    }
    step_strand_leave_to(other, sp);
    t->strand = other;
    return true;
}

static void end_transit(struct step_thread *t, bool transferred, uintptr_t pc, uintptr_t sp)
{
    struct step_strand *s = t->strand;
    if (s->open && s->n == 0 && sp >= s->entry_at && step_region_has(step_strand_top(s)->region, sp)) {
        s->below = NULL;
        s->entry_at = sp;
        s->entry_pc = *(const uintptr_t *)sp;
    }
    step_judge_transfer(t, transferred, pc, sp);
    t->transit = false;
    t->lifted = false;
}

/* A call on a stack that was switched to within the function: its frame goes on on the stack it came from. */
static void call_across_stacks(struct step_thread *t)
{
    struct step_strand *s = t->strand;
    if (s->open && s->n == 0 && t->transit_from != s && t->transit_from != NULL)
        s->below = t->transit_from;
    step_judge_transfer(t, false, 0, 0);
    t->transit = false;
    t->lifted = false;
}

static bool pushed_back(const struct step_thread *t, uintptr_t sp)
{
    return t->lifted && sp == t->lifted_entry.at && *(const uintptr_t *)sp == t->lifted_entry.pc;
}

static void follow_transit(struct step_thread *t, struct instruction in, uintptr_t pc, uintptr_t sp)
{
    __atomic_fetch_add(&step_area->transit, 1, __ATOMIC_RELAXED);
    t->transit_steps++;
    if (is_return(in) || is_indirect_jump(in)) {
        end_transit(t, true, pc, sp);
    } else if (pushed_back(t, sp)) {
        step_strand_call(t->strand, t->lifted_entry.at, t->lifted_entry.pc);
        end_transit(t, false, 0, 0);
    }
}

/* The truth is what the stack holds: libgcc's _Unwind_RaiseException has its return address overwritten with the
 * landing pad's before it returns there, two calls deep; a handler may send the interrupted code elsewhere. */
static void read_again(struct step_strand *s)
{
    for (uint32_t i = s->n; i > 0 && i + REWRITTEN > s->n; i--) {
        struct step_entry *e = &s->entries[i - 1];
        if (e->kind == STEP_CALL) {
            e->pc = *(const uintptr_t *)e->at;
        } else if (i < s->n) {
            const ucontext_t *saved = (const ucontext_t *)(s->entries[i].at + 8);
            e->pc = (uintptr_t)saved->uc_mcontext.gregs[REG_RIP];
        }
    }
}

enum step_followed step_follow(struct step_thread *t, uintptr_t pc, uintptr_t sp)
{
    step_finish_sigreturn(t);
    if (t->fresh) {
        t->fresh = false;
        goto moved;
    }
    if (pc == t->pc && sp == t->sp)
        return STEP_REPEATED;

    const uint8_t *code = t->code;
    uint32_t size = t->code_size;
    if (step_is_syscall(code, size)) {
        code += 2;
        size -= 2;
    }
    struct instruction in = decode(code, size);

    bool switched = may_change_stack(t, in, sp) && change_stack(t, sp);
    struct step_entry last = {0, 0, 0};
    uint32_t popped = step_strand_pop(t->strand, sp, &last);

    if (is_call(in) && sp == t->sp - 8) {
        if (t->transit)
            call_across_stacks(t);
        step_strand_call(t->strand, sp, *(const uintptr_t *)sp);
    } else if (t->transit && !switched) {
        follow_transit(t, in, pc, sp);
    } else if (switched || (popped > 0 && !is_return(in))) {
        t->transit = true;
        t->transit_steps = 0;
        t->lifted = popped == 1 && !switched && sp == last.at + 8;
        t->lifted_entry = last;
    }
    read_again(t->strand);
    if (pc == step_landmarks.makecontext)
        t->at_makecontext = true;
moved:
    t->pc = pc;
    t->sp = sp;
    step_look_ahead(t, pc);
    return STEP_MOVED;
}
