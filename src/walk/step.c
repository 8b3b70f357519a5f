/* SPDX-License-Identifier: MIT */
#include "walk/step.h"

#include "walk/load.h"
#include "walk/proof.h"
#include "word/word.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>

static sp_rule rule_of_row(const struct sp_cfi_row *row, const struct sp_module *module)
{
    if (sp_row_is_outermost(row, module))
        return sp_rule_make(SP_KIND_OUTERMOST, 0, 0);

    const sp_rule complex = sp_rule_make(SP_KIND_COMPLEX, 0, 0);
    const struct sp_cfi_rule *rbp = &row->rules[SP_CFI_RBP];
    if (!sp_row_is_ordinary(row) || sp_row_is_eh_return(row) || row->cfa.kind != SP_CFA_REGISTER)
        return complex;

    unsigned slot = 0;
    if (rbp->kind == SP_CFI_OFFSET) {
        if (rbp->offset > -16 || rbp->offset % 8 != 0 || -rbp->offset / 8 - 1 > SP_RULE_SLOT_MAX)
            return complex;
        slot = (unsigned)(-rbp->offset / 8 - 1);
    } else if (rbp->kind != SP_CFI_SAME) {
        return complex;
    }

    int32_t offset = row->cfa.offset;
    if (offset < 8 || offset % 8 != 0 || (uint32_t)offset / 8 > SP_RULE_OFFSET_MAX)
        return complex;
    if (row->cfa.register_number == SP_CFI_RSP)
        return sp_rule_make(SP_KIND_SP, (uint32_t)offset / 8, slot);
    if (row->cfa.register_number == SP_CFI_RBP)
        return sp_rule_make(SP_KIND_RBP, (uint32_t)offset / 8, slot);
    return complex;
}

/* Makes sure that the volatile module that a frame's code is in is what it was. */
static bool check_module(struct sp_cursor *cursor, uintptr_t address)
{
    if (address >= cursor->checked_lo && address < cursor->checked_hi)
        return true;
    uint32_t generation = __atomic_load_n(&sp_modules_generation, __ATOMIC_ACQUIRE);
    struct sp_known_module known;
    if (!sp_known_get(address, &known) || generation != __atomic_load_n(&sp_modules_generation, __ATOMIC_ACQUIRE))
        return false;
    cursor->checked_lo = known.module.lo;
    cursor->checked_hi = known.module.hi;
    return true;
}

/* A covered function's rule, from its word. 0 where [sp] is no word, or CFI contradicts it: then the word was damaged.
 */
static sp_rule rule_of_word(struct sp_cursor *cursor, const struct sp_known_module *known, sp_rule by_cfi)
{
    if (!sp_covered_unless_replaced(&known->coverage, cursor->pc - 1) || !sp_bounds_hold(&cursor->bounds, cursor->sp))
        return 0;
    uint64_t word = sp_load(cursor->sp);
    if (!sp_word_is_plausible(word))
        return 0;
    sp_rule rule = sp_rule_make(SP_KIND_SP, sp_word_length(word) / 8 + 1, sp_word_rbp_slot(word));
    if (by_cfi != 0 && sp_rule_kind(by_cfi) == SP_KIND_SP && by_cfi != rule)
        return 0;
    return rule | SP_RULE_BY_WORD;
}

bool sp_step_confirm_word(uintptr_t pc, uintptr_t sp)
{
    struct sp_known_module known;
    struct sp_cfi_row row;
    if (!sp_known_get(pc - 1, &known) || !sp_covered_unless_replaced(&known.coverage, pc - 1))
        return true;
    uint64_t word = sp_load(sp);
    if (!sp_word_is_plausible(word) || known.tables.hdr == 0 ||
        sp_cfi_find_row(&known.tables, pc - 1, &row) != SP_CFI_OK)
        return true;
    sp_rule rule = rule_of_row(&row, &known.module);
    return sp_rule_kind(rule) != SP_KIND_SP || sp_rule_offset(rule) == sp_word_length(word) + 8;
}

static uintptr_t current_rbp(const struct sp_cursor *cursor)
{
    return cursor->rbp_at != 0 ? sp_load(cursor->rbp_at) : cursor->rbp;
}

/* Whether the conditions of a rule are met; those of a complex one are looked at when it is followed. */
static bool rule_holds(struct sp_cursor *cursor, const struct sp_row_conditions *conditions, sp_rule rule)
{
    if (!conditions->is_from_code || sp_rule_kind(rule) == SP_KIND_COMPLEX)
        return true;
    uintptr_t cfa = sp_rule_offset(rule) + (sp_rule_kind(rule) == SP_KIND_RBP ? current_rbp(cursor) : cursor->sp);
    return sp_bounds_hold(&cursor->bounds, cfa - 8) && sp_row_holds(conditions, cfa, sp_load(cfa - 8));
}

/* The rule for code that no module holds. */
static sp_rule rule_without_module(struct sp_cursor *cursor)
{
    struct sp_cfi_row row;
    struct sp_row_conditions conditions;
    const struct sp_module none = {.phnum = 0};
    if (!sp_find_row_without_module(cursor->pc, cursor->interrupted, &row, &conditions))
        return 0;
    sp_rule rule = rule_of_row(&row, &none);
    return rule_holds(cursor, &conditions, rule) ? rule : 0;
}

static sp_rule find_rule(struct sp_cursor *cursor)
{
    uintptr_t lookup = sp_lookup_address(cursor->pc, cursor->interrupted);
    struct sp_known_module known;
    if (!sp_known_get(lookup, &known))
        return rule_without_module(cursor);
    if (known.is_volatile) {
        cursor->checked_lo = known.module.lo;
        cursor->checked_hi = known.module.hi;
    }
    if (known.coverage.span != 0 && !known.is_volatile)
        cursor->coverage = known.coverage;

    uintptr_t lo, hi;
    if (sp_module_segment(&known.module, lookup, PF_R | PF_X, &lo, &hi) && cursor->pc < hi &&
        sp_is_restorer(cursor->pc, hi))
        return sp_rule_make(SP_KIND_SIGNAL, 0, 0) | (known.is_volatile ? SP_RULE_VOLATILE : 0);

    struct sp_cfi_row row;
    struct sp_row_conditions conditions;
    sp_rule rule = 0;
    if (sp_find_row(cursor->pc, cursor->interrupted, &known, &row, &conditions) &&
        rule_holds(cursor, &conditions, rule_of_row(&row, &known.module)))
        rule = rule_of_row(&row, &known.module);
    /* What was read from code holds for this stack. */
    bool is_sure = rule != 0 && !conditions.is_from_code;
    if (!cursor->interrupted) {
        sp_rule by_word = rule_of_word(cursor, &known, rule);
        rule = by_word != 0 ? by_word : rule;
    }
    if (rule != 0 && known.is_volatile)
        rule |= SP_RULE_VOLATILE;
    /* A word that nothing confirms may be a damaged one: it serves this walk alone. */
    if (is_sure)
        sp_rules_put(lookup, rule);
    return rule;
}

static bool read_for_expression(void *context, uintptr_t address, uint64_t *word, unsigned size)
{
    struct sp_cursor *cursor = context;
    return sp_bounds_read(&cursor->bounds, address, word, size);
}

static enum sp_step_result of_evaluation(enum sp_cfi_result result)
{
    switch (result) {
    case SP_CFI_NEEDS_REGISTER:
        return SP_STEP_FULL_WALK;
    case SP_CFI_UNREADABLE:
        return SP_STEP_UNREADABLE;
    default:
        return SP_STEP_NO_RULE;
    }
}

/* Where the caller's frame begins and where its pc was read: the last checks of each step. */
static enum sp_step_result arrive(struct sp_cursor *cursor, uintptr_t sp, uintptr_t pc_at, uintptr_t rbp_at)
{
    if (!sp_bounds_hold(&cursor->bounds, pc_at))
        return SP_STEP_UNREADABLE;
    if (sp <= cursor->sp)
        return SP_STEP_NO_PROGRESS;
    if (rbp_at != 0) {
        if (!sp_bounds_hold(&cursor->bounds, rbp_at))
            return SP_STEP_UNREADABLE;
        cursor->rbp_at = rbp_at;
    }
    cursor->pc = sp_load(pc_at);
    cursor->sp = sp;
    cursor->interrupted = false;
    return SP_STEP_CALLER;
}

/* A row that does not fit a rule, as far as SP, rbp and the pc suffice for it. */
static enum sp_step_result step_by_row(struct sp_cursor *cursor)
{
    struct sp_known_module known;
    struct sp_cfi_row row;
    struct sp_row_conditions conditions;
    uintptr_t lookup = sp_lookup_address(cursor->pc, cursor->interrupted);
    if (!sp_known_get(lookup, &known))
        return SP_STEP_FULL_WALK;
    if (!sp_find_row(cursor->pc, cursor->interrupted, &known, &row, &conditions))
        return SP_STEP_NO_RULE;
    if (conditions.is_from_code || !sp_row_is_ordinary(&row) || sp_row_is_eh_return(&row))
        return SP_STEP_FULL_WALK;

    struct sp_cfi_registers registers = {.known = 1u << SP_CFI_RSP | 1u << SP_CFI_RBP | 1u << SP_CFI_RA};
    registers.value[SP_CFI_RSP] = cursor->sp;
    registers.value[SP_CFI_RBP] = current_rbp(cursor);
    registers.value[SP_CFI_RA] = cursor->pc;
    uint64_t cfa;
    if (row.cfa.kind == SP_CFA_EXPRESSION) {
        enum sp_cfi_result result = sp_cfi_evaluate(&known.tables, row.cfa.expression, &registers, NULL,
                                                    read_for_expression, cursor, &cfa, NULL);
        if (result != SP_CFI_VALUE)
            return of_evaluation(result);
    } else {
        if (!(registers.known >> row.cfa.register_number & 1))
            return SP_STEP_FULL_WALK;
        cfa = registers.value[row.cfa.register_number] + (uint64_t)(int64_t)row.cfa.offset;
    }

    const struct sp_cfi_rule *rbp = &row.rules[SP_CFI_RBP];
    uint64_t rbp_at = 0;
    if (rbp->kind == SP_CFI_OFFSET) {
        rbp_at = cfa + (uint64_t)(int64_t)rbp->offset;
    } else if (rbp->kind == SP_CFI_EXPRESSION) {
        enum sp_cfi_result result = sp_cfi_evaluate(&known.tables, rbp->expression, &registers, &cfa,
                                                    read_for_expression, cursor, &rbp_at, NULL);
        if (result != SP_CFI_VALUE)
            return of_evaluation(result);
    } else if (rbp->kind != SP_CFI_SAME) {
        return SP_STEP_FULL_WALK;
    }
    return arrive(cursor, cfa, cfa - 8, rbp_at);
}

static enum sp_step_result step_over_signal(struct sp_cursor *cursor)
{
    uintptr_t at = cursor->sp;
    if (!sp_bounds_hold(&cursor->bounds, at) || !sp_bounds_hold(&cursor->bounds, at + SP_UCONTEXT_RIP))
        return SP_STEP_UNREADABLE;
    uintptr_t sp = sp_load(at + SP_UCONTEXT_RSP);
    /* Two stacks can lie in one run of memory, the alternate one above. */
    bool is_same_stack = sp > at && sp <= cursor->bounds.last && !sp_leaves_alternate_stack(at, sp);
    if (!is_same_stack) {
        if (cursor->stack_changes++ == SP_STACK_CHANGES)
            return SP_STEP_NO_PROGRESS;
        struct sp_bounds bounds = sp_bounds_of(sp, cursor->stacks);
        /* The interrupted code may have had an SP that is none; its pc is known all the same. */
        cursor->bounds = bounds;
    }
    cursor->pc = sp_load(at + SP_UCONTEXT_RIP);
    cursor->sp = sp;
    cursor->rbp_at = at + SP_UCONTEXT_RBP;
    cursor->interrupted = true;
    return SP_STEP_CALLER;
}

/* What can be had of a rule for an interrupted pc by the code: the same CFA. */
static bool code_agrees(const struct sp_cfi_row *row, const struct sp_cursor *frame, uintptr_t caller_sp)
{
    uintptr_t from = row->cfa.register_number == SP_CFI_RSP ? frame->sp : current_rbp(frame);
    return from + (uintptr_t)(intptr_t)row->cfa.offset == caller_sp;
}

/*
 * Whether the step by a rule not proven yet from an interrupted frame to its caller, in the cursor, is right. If not,
 * the full walk finds out what can be known.
 */
static enum sp_step_result prove(const struct sp_cursor *frame, const struct sp_cursor *cursor, sp_rule rule)
{
    struct sp_known_module known;
    struct sp_cfi_row row;
    struct sp_row_conditions conditions;
    /* What is from code has been held against the code's own conditions. */
    if (!sp_known_get(frame->pc, &known) || !sp_find_row(frame->pc, true, &known, &row, &conditions) ||
        conditions.is_from_code)
        return SP_STEP_CALLER;
    enum sp_call_site site = sp_call_site(cursor->pc, row.function_lo, row.function_hi, &cursor->bounds);
    if (site == SP_SITE_FUNCTION) {
        sp_rules_put(frame->pc, sp_rule_in_state(rule, SP_RULE_PROVEN));
        return SP_STEP_CALLER;
    }
    if (site != SP_SITE_NONE && sp_rule_state(rule) == SP_RULE_UNPROVABLE)
        return SP_STEP_CALLER;
    if (!sp_find_row_by_code(frame->pc, true, &known, row.function_hi, &row, &conditions)) {
        if (site == SP_SITE_NONE)
            return SP_STEP_FULL_WALK;
        sp_rules_put(frame->pc, sp_rule_in_state(rule, SP_RULE_UNPROVABLE));
        return SP_STEP_CALLER;
    }
    /* A signal handler returns to the restorer, a context's first function to where makecontext says: after no call. */
    if ((site == SP_SITE_NONE && !sp_is_code(cursor->pc)) || !code_agrees(&row, frame, cursor->sp))
        return SP_STEP_FULL_WALK;
    sp_rules_put(frame->pc, sp_rule_in_state(rule, SP_RULE_PROVEN));
    return SP_STEP_CALLER;
}

enum sp_step_result sp_step_failure(uintptr_t pc, bool interrupted, enum sp_step_result result)
{
    if (interrupted || (result != SP_STEP_NO_RULE && result != SP_STEP_UNREADABLE && result != SP_STEP_NO_PROGRESS))
        return result;
    int saved_errno = errno;
    bool is_frame = sp_is_code(pc - 1) || sp_follows_call(pc);
    errno = saved_errno;
    return is_frame ? result : SP_STEP_NO_CODE;
}

static enum sp_step_result follow(struct sp_cursor *cursor, sp_rule rule)
{
    uintptr_t cfa;
    unsigned slot = sp_rule_slot(rule);
    cursor->rule = SP_RULE_CFI;
    switch (sp_rule_kind(rule)) {
    case SP_KIND_SP:
        cursor->rule = sp_rule_state(rule) == SP_RULE_BY_WORD ? SP_RULE_WORD : SP_RULE_CFI;
        cfa = cursor->sp + sp_rule_offset(rule);
        return arrive(cursor, cfa, cfa - 8, slot != 0 ? cfa - 8 - 8 * slot : 0);
    case SP_KIND_RBP:
        cfa = current_rbp(cursor) + sp_rule_offset(rule);
        return arrive(cursor, cfa, cfa - 8, slot != 0 ? cfa - 8 - 8 * slot : 0);
    case SP_KIND_SIGNAL:
        cursor->rule = SP_RULE_SIGNAL;
        return step_over_signal(cursor);
    case SP_KIND_COMPLEX:
        return step_by_row(cursor);
    case SP_KIND_OUTERMOST:
        return SP_STEP_OUTERMOST;
    default:
        return SP_STEP_NO_RULE;
    }
}

static enum sp_step_result follow_unproven(struct sp_cursor *cursor, sp_rule rule)
{
    const struct sp_cursor frame = *cursor;
    enum sp_step_result result = follow(cursor, rule);
    if (result == SP_STEP_CALLER)
        return prove(&frame, cursor, rule);
    return result == SP_STEP_OUTERMOST ? result : SP_STEP_FULL_WALK;
}

enum sp_step_result sp_step(struct sp_cursor *cursor)
{
    uintptr_t pc = cursor->pc, lookup = sp_lookup_address(pc, cursor->interrupted);
    const bool interrupted = cursor->interrupted;
    cursor->rule = SP_RULE_NONE;
    cursor->followed = 0;
    /* A return address of 0 marks a coroutine's first frame; a thread's first frame is told by its CFI. */
    if (pc == 0 && !interrupted)
        return cursor->bounds.can_extend ? SP_STEP_NO_CALLER : SP_STEP_NO_CODE;

    int saved_errno = errno;
    sp_rule rule = sp_rules_get(lookup);
    if ((rule & SP_RULE_VOLATILE && !check_module(cursor, lookup)) ||
        (interrupted && sp_rule_state(rule) == SP_RULE_BY_WORD))
        rule = 0;
    if (rule == 0)
        rule = find_rule(cursor);

    bool is_open =
        interrupted && rule != 0 && sp_rule_state(rule) != SP_RULE_PROVEN && sp_rule_kind(rule) != SP_KIND_SIGNAL;
    enum sp_step_result result = is_open ? follow_unproven(cursor, rule) : follow(cursor, rule);
    errno = saved_errno;
    if (result == SP_STEP_CALLER || result == SP_STEP_OUTERMOST) {
        cursor->followed = sp_rule_in_state(rule, 0);
        return result;
    }
    cursor->rule = SP_RULE_NONE;
    return sp_step_failure(pc, interrupted, result);
}
