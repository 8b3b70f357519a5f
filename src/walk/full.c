/* SPDX-License-Identifier: MIT */
#include "walk/load.h"
#include "walk/modules.h"
#include "walk/proof.h"
#include "walk/step.h"
#include "walk/thread.h"
#include "word/word.h"

#include <errno.h>
#include <stddef.h>

/* The registers that a called function hands back as it got them (psABI AMD64, 3.2.1), and the pc. */
#define PRESERVED (1u << 3 | 1u << 6 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15 | 1u << SP_CFI_RA)

struct full_walk {
    struct sp_cfi_registers registers;
    bool interrupted;
    struct sp_bounds bounds;
    struct sp_stacks *stacks;
    unsigned stack_changes;
    uint8_t rule; /* by which the last frame was left */
};

static bool read_memory(void *context, uintptr_t address, uint64_t *word, unsigned size)
{
    struct full_walk *walk = context;
    return sp_bounds_read(&walk->bounds, address, word, size);
}

static enum sp_step_result of_evaluation(enum sp_cfi_result result)
{
    return result == SP_CFI_UNREADABLE ? SP_STEP_UNREADABLE : SP_STEP_NO_RULE;
}

/* The value that a register has in the caller. Where it is lost, *is_known is false. */
static enum sp_step_result restore(struct full_walk *walk, const struct sp_cfi_tables *tables,
                                   const struct sp_cfi_rule *rule, unsigned number, uint64_t cfa, uint64_t *value,
                                   bool *is_known)
{
    const struct sp_cfi_registers *registers = &walk->registers;
    enum sp_cfi_result result;
    uint64_t address = cfa + (uint64_t)(int64_t)rule->offset;
    *is_known = true;
    switch (rule->kind) {
    case SP_CFI_SAME:
        *value = registers->value[number];
        *is_known = registers->known >> number & 1;
        return SP_STEP_CALLER;
    case SP_CFI_VAL_OFFSET:
        *value = address;
        return SP_STEP_CALLER;
    case SP_CFI_REGISTER:
        *value = registers->value[rule->source];
        *is_known = registers->known >> rule->source & 1;
        return SP_STEP_CALLER;
    case SP_CFI_VAL_EXPRESSION:
        result = sp_cfi_evaluate(tables, rule->expression, registers, &cfa, read_memory, walk, value, NULL);
        return result == SP_CFI_VALUE ? SP_STEP_CALLER : of_evaluation(result);
    case SP_CFI_EXPRESSION:
        result = sp_cfi_evaluate(tables, rule->expression, registers, &cfa, read_memory, walk, &address, NULL);
        if (result != SP_CFI_VALUE)
            return of_evaluation(result);
        /* fall through */
    case SP_CFI_OFFSET:
        return read_memory(walk, address, value, 8) ? SP_STEP_CALLER : SP_STEP_UNREADABLE;
    default:
        *is_known = false;
        return SP_STEP_CALLER;
    }
}

/*
 * may_leave_stack: the caller's frame may be on another stack, as an interrupted frame's or longjmp's target's; and
 * where an interrupted longjmp's CFI names its target, SP may be there already.
 */
static enum sp_step_result arrive(struct full_walk *walk, const struct sp_cfi_registers *caller, bool interrupted,
                                  bool may_leave_stack)
{
    const uint32_t needed = 1u << SP_CFI_RSP | 1u << SP_CFI_RA;
    uintptr_t old_sp = walk->registers.value[SP_CFI_RSP], sp = caller->value[SP_CFI_RSP];
    if ((caller->known & needed) != needed)
        return SP_STEP_NO_RULE;
    bool is_same_stack = sp > old_sp && sp <= walk->bounds.last && !sp_leaves_alternate_stack(old_sp, sp);
    if (may_leave_stack && !is_same_stack && sp != old_sp) {
        if (walk->stack_changes++ == SP_STACK_CHANGES)
            return SP_STEP_NO_PROGRESS;
        walk->bounds = sp_bounds_of(sp, walk->stacks);
    } else if (sp < old_sp || (sp == old_sp && !may_leave_stack)) {
        return SP_STEP_NO_PROGRESS;
    }
    walk->registers = *caller;
    walk->interrupted = interrupted;
    return SP_STEP_CALLER;
}

/*
 * Whether an interrupted function that ends in __builtin_eh_return, and has put its frame off, is on its way to a
 * landing pad: which it jumps to, or returns to after `mov %rcx, %rsp`. Any other `ret` of it goes to its caller.
 */
static bool goes_to_landing_pad(uintptr_t function_lo, uintptr_t pc)
{
    static const uint8_t move_sp[] = {0x48, 0x89, 0xcc};
    enum { RET = 0xc3 };
    const uint8_t *code = (const uint8_t *)pc;
    if (code[0] != RET)
        return true;
    if (pc - function_lo < sizeof move_sp)
        return false;
    for (unsigned i = 0; i < sizeof move_sp; i++)
        if ((code - sizeof move_sp)[i] != move_sp[i])
            return false;
    return true;
}

static enum sp_step_result step_by_row(struct full_walk *walk, const struct sp_known_module *known,
                                       const struct sp_cfi_row *row, const struct sp_row_conditions *conditions)
{
    struct sp_cfi_registers *registers = &walk->registers;
    const struct sp_cfi_tables *tables = &known->tables;
    if (sp_row_is_outermost(row, &known->module))
        return SP_STEP_OUTERMOST;
    uint64_t cfa;
    if (row->cfa.kind == SP_CFA_EXPRESSION) {
        enum sp_cfi_result result =
            sp_cfi_evaluate(tables, row->cfa.expression, registers, NULL, read_memory, walk, &cfa, NULL);
        if (result != SP_CFI_VALUE)
            return of_evaluation(result);
    } else {
        if (!(registers->known >> row->cfa.register_number & 1))
            return SP_STEP_NO_RULE;
        cfa = registers->value[row->cfa.register_number] + (uint64_t)(int64_t)row->cfa.offset;
    }

    const bool is_eh_return = sp_row_is_eh_return(row);
    const bool is_leaving = is_eh_return && row->cfa.register_number != SP_CFI_RBP;
    struct sp_cfi_registers caller = {.known = 0};
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++) {
        unsigned number = i == SP_CFI_RA ? row->return_register : i;
        bool is_known;
        /* A register that calls clobber is the caller's only where a rule or the kernel says so. */
        if (row->rules[number].kind == SP_CFI_SAME && !(PRESERVED >> number & 1))
            continue;
        if (is_leaving && i != SP_CFI_RSP && i != SP_CFI_RA) { /* all are as the landing pad is to find them */
            caller.value[i] = registers->value[i];
            caller.known |= registers->known & PRESERVED & 1u << i;
            continue;
        }
        enum sp_step_result result =
            restore(walk, tables, &row->rules[number], number, cfa, &caller.value[i], &is_known);
        if (result != SP_STEP_CALLER) {
            if (i == SP_CFI_RSP || i == SP_CFI_RA)
                return result;
            is_known = false;
        }
        caller.known |= (uint32_t)is_known << i;
    }
    if (!sp_row_holds(conditions, cfa, caller.value[SP_CFI_RA]))
        return SP_STEP_NO_RULE;
    /* What CFI says of where the function lies is believed as far as there is code. */
    uintptr_t pc = registers->value[SP_CFI_RA], lo = 0, hi = 0;
    if (is_eh_return &&
        !sp_module_segment(&known->module, sp_lookup_address(pc, walk->interrupted), PF_R | PF_X, &lo, &hi))
        return SP_STEP_NO_RULE;
    lo = row->function_lo > lo ? row->function_lo : lo;
    hi = row->function_hi < hi ? row->function_hi : hi;
    if (is_eh_return && !is_leaving) {
        enum sp_eh_state state = sp_eh_state(lo, hi, pc, caller.value[SP_CFI_RA], &walk->bounds);
        if (state == SP_EH_REPLACED)
            return SP_STEP_NO_RULE;
        if (state == SP_EH_REGISTERS_LOST)
            caller.known &= 1u << SP_CFI_RSP | 1u << SP_CFI_RA;
    }
    walk->rule = row->signal_frame ? SP_RULE_SIGNAL : SP_RULE_CFI;
    /* A landing pad follows no call. */
    bool is_exact = row->signal_frame || (is_leaving && walk->interrupted && goes_to_landing_pad(lo, pc));
    return arrive(walk, &caller, is_exact, row->signal_frame || (walk->interrupted && !sp_row_is_ordinary(row)));
}

/* How the code at an interrupted pc would have it, where that can be told. */
static bool step_by_code(struct full_walk *walk, const struct sp_known_module *known, uintptr_t function_hi,
                         bool *is_sure)
{
    struct sp_cfi_row row;
    struct sp_row_conditions conditions;
    if (!sp_find_row_by_code(walk->registers.value[SP_CFI_RA], true, known, function_hi, &row, &conditions))
        return false;
    *is_sure = !conditions.past_call;
    conditions.is_from_code = false; /* where it leads is for the caller to judge */
    return step_by_row(walk, known, &row, &conditions) == SP_STEP_CALLER &&
           (!conditions.is_aligned || walk->registers.value[SP_CFI_RSP] % 16 == 0);
}

/* An interrupted frame by its CFI, or where that does not lead to a caller, or not to the right one, by its code. */
static enum sp_step_result step_interrupted(struct full_walk *walk, const struct sp_known_module *known,
                                            const struct sp_cfi_row *row, const struct sp_row_conditions *conditions)
{
    /* One copy, not two: these are large, and a handler's stack is short. */
    struct full_walk by_code = *walk;
    enum sp_step_result result = step_by_row(walk, known, row, conditions);
    bool is_found = result == SP_STEP_CALLER;
    /* A row with rules of its own was written for the place. */
    if (!sp_row_is_ordinary(row) || sp_row_is_eh_return(row) || conditions->is_from_code || result == SP_STEP_OUTERMOST)
        return result;
    uintptr_t ra = walk->registers.value[SP_CFI_RA];
    enum sp_call_site site =
        is_found ? sp_call_site(ra, row->function_lo, row->function_hi, &walk->bounds) : SP_SITE_NONE;
    bool is_sure = false;
    bool is_told = site != SP_SITE_FUNCTION && step_by_code(&by_code, known, row->function_hi, &is_sure);
    bool is_same = is_told && is_found && by_code.registers.value[SP_CFI_RSP] == walk->registers.value[SP_CFI_RSP];
    if (is_same && (sp_is_code(ra) || (ra == 0 && walk->bounds.can_extend)))
        site = SP_SITE_FUNCTION;
    if (is_told && !is_same) {
        enum sp_call_site by_code_site =
            sp_call_site(by_code.registers.value[SP_CFI_RA], row->function_lo, row->function_hi, &walk->bounds);
        if (by_code_site == SP_SITE_FUNCTION || (by_code_site != SP_SITE_NONE && (site == SP_SITE_NONE || is_sure))) {
            *walk = by_code;
            return SP_STEP_CALLER;
        }
    }
    bool is_first = ra == 0 && !is_told && walk->bounds.can_extend; /* of a coroutine */
    if (is_found && site == SP_SITE_NONE && !is_first)
        return SP_STEP_NO_RULE;
    return result;
}

/* Where there is no CFI, by the word: all but rbp of what is saved in the frame is lost. */
static enum sp_step_result step_by_word(struct full_walk *walk, const struct sp_known_module *known)
{
    uintptr_t sp = walk->registers.value[SP_CFI_RSP], pc = walk->registers.value[SP_CFI_RA];
    if (walk->interrupted || !sp_covered_unless_replaced(&known->coverage, pc - 1) ||
        !sp_bounds_hold(&walk->bounds, sp))
        return SP_STEP_NO_RULE;
    uint64_t word = sp_load(sp);
    if (!sp_word_is_plausible(word))
        return SP_STEP_NO_RULE;
    uintptr_t pc_at = sp + sp_word_length(word);
    unsigned slot = sp_word_rbp_slot(word);
    if (!sp_bounds_hold(&walk->bounds, pc_at))
        return SP_STEP_UNREADABLE;
    struct sp_cfi_registers caller = {.known = 1u << SP_CFI_RSP | 1u << SP_CFI_RA};
    caller.value[SP_CFI_RSP] = pc_at + 8;
    caller.value[SP_CFI_RA] = sp_load(pc_at);
    if (slot != 0) {
        caller.value[SP_CFI_RBP] = sp_load(pc_at - 8 * slot);
        caller.known |= 1u << SP_CFI_RBP;
    } else {
        caller.value[SP_CFI_RBP] = walk->registers.value[SP_CFI_RBP];
        caller.known |= walk->registers.known & 1u << SP_CFI_RBP;
    }
    walk->rule = SP_RULE_WORD;
    return arrive(walk, &caller, false, false);
}

static enum sp_step_result step_over_signal(struct full_walk *walk)
{
    uintptr_t at = walk->registers.value[SP_CFI_RSP];
    if (!sp_bounds_hold(&walk->bounds, at) || !sp_bounds_hold(&walk->bounds, at + SP_UCONTEXT_RIP))
        return SP_STEP_UNREADABLE;
    struct sp_cfi_registers caller;
    sp_registers_from_ucontext(at, &caller);
    walk->rule = SP_RULE_SIGNAL;
    return arrive(walk, &caller, true, true);
}

static enum sp_step_result step_by_any(struct full_walk *walk)
{
    uintptr_t pc = walk->registers.value[SP_CFI_RA];
    uintptr_t lookup = sp_lookup_address(pc, walk->interrupted);
    walk->rule = SP_RULE_NONE;
    if (pc == 0 && !walk->interrupted)
        return walk->bounds.can_extend ? SP_STEP_NO_CALLER : SP_STEP_NO_CODE;

    struct sp_known_module known = {.module = {.phnum = 0}};
    struct sp_cfi_row row;
    struct sp_row_conditions conditions;
    uintptr_t lo, hi;
    if (!sp_known_get(lookup, &known)) {
        known = (struct sp_known_module){.module = {.phnum = 0}};
        if (!sp_find_row_without_module(pc, walk->interrupted, &row, &conditions))
            return SP_STEP_NO_RULE;
        return step_by_row(walk, &known, &row, &conditions);
    }
    if (sp_module_segment(&known.module, lookup, PF_R | PF_X, &lo, &hi) && pc < hi && sp_is_restorer(pc, hi))
        return step_over_signal(walk);
    bool is_found = sp_find_row(pc, walk->interrupted, &known, &row, &conditions);
    if (is_found && walk->interrupted)
        return step_interrupted(walk, &known, &row, &conditions);
    /* A word is surer than what reading the code ahead tells. */
    if (is_found && !conditions.is_from_code)
        return step_by_row(walk, &known, &row, &conditions);
    enum sp_step_result result = step_by_word(walk, &known);
    if (result != SP_STEP_NO_RULE || !is_found)
        return result;
    return step_by_row(walk, &known, &row, &conditions);
}

static enum sp_step_result step(struct full_walk *walk)
{
    uintptr_t pc = walk->registers.value[SP_CFI_RA];
    bool interrupted = walk->interrupted;
    enum sp_step_result result = step_by_any(walk);
    return result == SP_STEP_CALLER ? result : sp_step_failure(pc, interrupted, result);
}

static void start_registers(const struct sp_start *start, struct sp_cfi_registers *registers)
{
    if (start->ucontext != NULL) {
        sp_registers_from_ucontext((uintptr_t)start->ucontext, registers);
        return;
    }
    const struct sp_own_registers *own = start->own;
    registers->known = PRESERVED;
    registers->value[3] = own->rbx;
    registers->value[6] = own->rbp;
    registers->value[7] = sp_own_sp(own);
    registers->value[12] = own->r12;
    registers->value[13] = own->r13;
    registers->value[14] = own->r14;
    registers->value[15] = own->r15;
    registers->value[SP_CFI_RA] = own->pc;
}

int sp_walk_full(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
{
    struct full_walk walk = {.interrupted = start->interrupted, .stacks = &sp_thread.stacks};
    start_registers(start, &walk.registers);
    walk.bounds = sp_bounds_of(start->sp, walk.stacks);
    int saved_errno = errno;

    int n = 0;
    enum sp_step_result result;
    do {
        uintptr_t sp = walk.registers.value[SP_CFI_RSP];
        struct sp_frame frame = {.pc = walk.registers.value[SP_CFI_RA], .sp = sp, .interrupted = walk.interrupted};
        result = step(&walk);
        if (result == SP_STEP_NO_CALLER || result == SP_STEP_NO_CODE) {
            sp_end_before(sink, n, result);
            break;
        }
        frame.rule = walk.rule;
        if (result == SP_STEP_CALLER) {
            uintptr_t caller_sp = walk.registers.value[SP_CFI_RSP];
            frame.size = caller_sp > sp && caller_sp - sp <= UINT32_MAX ? (uint32_t)(caller_sp - sp) : 0;
        } else if (result != SP_STEP_OUTERMOST) {
            frame.rule = SP_RULE_NONE;
        } else {
            frame.rule = SP_RULE_CFI;
        }
        if (sink->frames != NULL)
            sink->frames[n] = frame;
        else
            sink->pcs[n] = (void *)frame.pc;
        n++;
    } while (result == SP_STEP_CALLER && n < sink->max);

    switch (result) {
    case SP_STEP_CALLER:
        *end = walk.registers.value[SP_CFI_RA] == 0 && !walk.interrupted && walk.bounds.can_extend ? SP_END_OUTERMOST
                                                                                                   : SP_END_FULL;
        break;
    case SP_STEP_OUTERMOST:
    case SP_STEP_NO_CALLER:
        *end = SP_END_OUTERMOST;
        break;
    case SP_STEP_UNREADABLE:
        *end = SP_END_UNREADABLE;
        break;
    case SP_STEP_NO_PROGRESS:
        *end = SP_END_NO_PROGRESS;
        break;
    default:
        *end = SP_END_NO_RULE;
        break;
    }
    errno = saved_errno;
    return n;
}
