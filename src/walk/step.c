/* SPDX-License-Identifier: MIT */
#include "walk/step.h"

#include "code/code.h"

#include "walk/load.h"
#include "word/word.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>

bool sp_is_restorer(uintptr_t pc, uintptr_t end)
{
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    if (end - pc < sizeof code)
        return false;
    for (unsigned i = 0; i < sizeof code; i++)
        if (((const uint8_t *)pc)[i] != code[i])
            return false;
    return true;
}

bool sp_follows_call(uintptr_t address)
{
    struct sp_known_module known;
    uintptr_t lo, hi;
    if (!sp_modules_get(address - 1, &known) || !sp_module_segment(&known.module, address - 1, PF_R | PF_X, &lo, &hi))
        return false;
    const uint8_t *end = (const uint8_t *)address;
    uintptr_t before = address - lo;
    if (before >= 5 && end[-5] == 0xe8)
        return true;
    /* ff /2: a call through a register or memory, of 2 to 7 bytes after any prefix. */
    for (unsigned length = 2; length <= 7 && length <= before; length++)
        if (*(end - length) == 0xff && (*(end - length + 1) >> 3 & 7) == 2)
            return true;
    return false;
}

static bool find_row_by_code(uintptr_t pc, bool interrupted, const struct sp_known_module *known,
                             struct sp_cfi_row *row, struct sp_row_conditions *conditions)
{
    uintptr_t lo, hi;
    struct sp_code_rule rule;
    if (!sp_module_segment(&known->module, sp_lookup_address(pc, interrupted), PF_R | PF_X, &lo, &hi) ||
        sp_code_find_rule(pc, interrupted, lo, hi, &rule) != SP_CODE_OK)
        return false;
    *row = rule.row;
    conditions->is_from_code = true;
    conditions->is_aligned = rule.aligned_only;
    return true;
}

bool sp_find_row(uintptr_t pc, bool interrupted, const struct sp_known_module *known, struct sp_cfi_row *row,
                 struct sp_row_conditions *conditions)
{
    *conditions = (struct sp_row_conditions){false, false};
    enum sp_cfi_status status = SP_CFI_NONE;
    if (known->tables.hdr != 0) {
        status = sp_cfi_find_row(&known->tables, sp_lookup_address(pc, interrupted), row);
        /* Put there by hand, as makecontext does: a function that is returned to though it called nothing. */
        if (status == SP_CFI_NONE && !interrupted && sp_cfi_find_row(&known->tables, pc, row) == SP_CFI_OK &&
            row->function_lo == pc && !sp_follows_call(pc))
            return true;
    }
    if (status == SP_CFI_NONE)
        return find_row_by_code(pc, interrupted, known, row, conditions);
    return status == SP_CFI_OK;
}

bool sp_row_holds(const struct sp_row_conditions *conditions, uintptr_t cfa, uintptr_t return_address)
{
    return !conditions->is_from_code || (sp_follows_call(return_address) && (!conditions->is_aligned || cfa % 16 == 0));
}

/*
 * Whether a function begins with `mov %rbx, %rsp`: glibc's __start_context, which the first function of a context made
 * by makecontext returns to. It has no caller, though its CFI says nothing of that.
 */
static bool takes_over_stack(const struct sp_module *module, uintptr_t function)
{
    static const uint8_t code[] = {0x48, 0x89, 0xdc};
    uintptr_t lo, hi;
    if (!sp_module_segment(module, function, PF_R | PF_X, &lo, &hi) || hi - function < sizeof code)
        return false;
    const uint8_t *at = (const uint8_t *)function;
    return at[0] == code[0] && at[1] == code[1] && at[2] == code[2];
}

bool sp_row_is_outermost(const struct sp_cfi_row *row, const struct sp_module *module)
{
    return row->rules[row->return_register].kind == SP_CFI_UNDEFINED || takes_over_stack(module, row->function_lo);
}

static sp_rule rule_of_row(const struct sp_cfi_row *row, const struct sp_module *module)
{
    if (sp_row_is_outermost(row, module))
        return sp_rule_make(SP_KIND_OUTERMOST, 0, 0);

    const sp_rule complex = sp_rule_make(SP_KIND_COMPLEX, 0, 0);
    const struct sp_cfi_rule *ra = &row->rules[SP_CFI_RA], *rsp = &row->rules[SP_CFI_RSP],
                             *rbp = &row->rules[SP_CFI_RBP];
    if (row->signal_frame || row->return_register != SP_CFI_RA || ra->kind != SP_CFI_OFFSET || ra->offset != -8 ||
        rsp->kind != SP_CFI_VAL_OFFSET || rsp->offset != 0 || row->cfa.kind != SP_CFA_REGISTER)
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
    if (!sp_modules_get(address, &known) || generation != __atomic_load_n(&sp_modules_generation, __ATOMIC_ACQUIRE))
        return false;
    cursor->checked_lo = known.module.lo;
    cursor->checked_hi = known.module.hi;
    return true;
}

/* A covered function's rule, from its word. 0 where [sp] is no word, or CFI contradicts it: then the word was damaged.
 */
static sp_rule rule_of_word(struct sp_cursor *cursor, const struct sp_known_module *known, sp_rule by_cfi)
{
    if (!sp_covered(&known->coverage, cursor->pc - 1) || !sp_bounds_hold(&cursor->bounds, cursor->sp))
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
    if (!sp_modules_get(pc - 1, &known) || !sp_covered(&known.coverage, pc - 1))
        return true;
    uint64_t word = sp_load(sp);
    if (!sp_word_is_plausible(word) || known.tables.hdr == 0 || sp_cfi_find_row(&known.tables, pc - 1, &row) != SP_CFI_OK)
        return true;
    sp_rule rule = rule_of_row(&row, &known.module);
    return sp_rule_kind(rule) != SP_KIND_SP || sp_rule_offset(rule) == sp_word_length(word) + 8;
}

/* The rule for code that no module holds: called through a wild pointer, or made at run time. */
static sp_rule rule_without_module(struct sp_cursor *cursor)
{
    if (!cursor->interrupted || !sp_bounds_hold(&cursor->bounds, cursor->sp) || sp_is_readable(cursor->pc) ||
        !sp_follows_call(sp_load(cursor->sp)))
        return 0;
    /* The call put its return address at SP, and not one instruction has run since. */
    return sp_rule_make(SP_KIND_SP, 1, 0);
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

static sp_rule find_rule(struct sp_cursor *cursor)
{
    uintptr_t lookup = sp_lookup_address(cursor->pc, cursor->interrupted);
    struct sp_known_module known;
    if (!sp_modules_get(lookup, &known))
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
    if (!sp_modules_get(lookup, &known) || !sp_find_row(cursor->pc, cursor->interrupted, &known, &row, &conditions))
        return SP_STEP_NO_RULE;
    if (conditions.is_from_code)
        return SP_STEP_FULL_WALK;
    if (row.signal_frame || row.return_register != SP_CFI_RA)
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

    const struct sp_cfi_rule *ra = &row.rules[SP_CFI_RA], *rsp = &row.rules[SP_CFI_RSP], *rbp = &row.rules[SP_CFI_RBP];
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
    if (ra->kind != SP_CFI_OFFSET || rsp->kind != SP_CFI_VAL_OFFSET)
        return SP_STEP_FULL_WALK;
    return arrive(cursor, cfa + (uint64_t)(int64_t)rsp->offset, cfa + (uint64_t)(int64_t)ra->offset, rbp_at);
}

static enum sp_step_result step_over_signal(struct sp_cursor *cursor)
{
    uintptr_t at = cursor->sp;
    if (!sp_bounds_hold(&cursor->bounds, at) || !sp_bounds_hold(&cursor->bounds, at + SP_UCONTEXT_RIP))
        return SP_STEP_UNREADABLE;
    uintptr_t sp = sp_load(at + SP_UCONTEXT_RSP);
    bool is_same_stack = sp >= cursor->bounds.lo && sp <= cursor->bounds.last && !sp_leaves_alternate_stack(at, sp);
    if (is_same_stack && sp <= at)
        return SP_STEP_NO_PROGRESS;
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

enum sp_step_result sp_step(struct sp_cursor *cursor)
{
    uintptr_t lookup = sp_lookup_address(cursor->pc, cursor->interrupted);
    cursor->rule = SP_RULE_NONE;
    cursor->followed = 0;
    /* A return address of 0 marks a coroutine's first frame; a thread's first frame is told by its CFI. */
    if (cursor->pc == 0 && !cursor->interrupted)
        return cursor->bounds.can_extend ? SP_STEP_NO_CALLER : SP_STEP_NO_RULE;

    int saved_errno = errno;
    sp_rule rule = sp_rules_get(lookup);
    if ((rule & SP_RULE_VOLATILE && !check_module(cursor, lookup)) || (rule & SP_RULE_BY_WORD && cursor->interrupted))
        rule = 0;
    if (rule == 0)
        rule = find_rule(cursor);
    errno = saved_errno;

    uintptr_t cfa;
    enum sp_step_result result;
    unsigned slot = sp_rule_slot(rule);
    switch (sp_rule_kind(rule)) {
    case SP_KIND_SP:
        cfa = cursor->sp + sp_rule_offset(rule);
        result = arrive(cursor, cfa, cfa - 8, slot != 0 ? cfa - 8 - 8 * slot : 0);
        cursor->rule = rule & SP_RULE_BY_WORD ? SP_RULE_WORD : SP_RULE_CFI;
        break;
    case SP_KIND_RBP:
        cfa = current_rbp(cursor) + sp_rule_offset(rule);
        result = arrive(cursor, cfa, cfa - 8, slot != 0 ? cfa - 8 - 8 * slot : 0);
        cursor->rule = SP_RULE_CFI;
        break;
    case SP_KIND_SIGNAL:
        result = step_over_signal(cursor);
        cursor->rule = SP_RULE_SIGNAL;
        break;
    case SP_KIND_COMPLEX:
        result = step_by_row(cursor);
        cursor->rule = SP_RULE_CFI;
        break;
    case SP_KIND_OUTERMOST:
        cursor->rule = SP_RULE_CFI;
        cursor->followed = rule;
        return SP_STEP_OUTERMOST;
    default:
        return SP_STEP_NO_RULE;
    }
    if (result == SP_STEP_CALLER)
        cursor->followed = rule;
    else
        cursor->rule = SP_RULE_NONE;
    return result;
}
