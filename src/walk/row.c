/* SPDX-License-Identifier: MIT */
#include "walk/row.h"

#include "code/code.h"

#include "walk/bounds.h"
#include "walk/load.h"
#include "walk/proof.h"

#include <elf.h>
#include <stddef.h>

enum { PAGE = 4096 };

/* `mov $15, %rax; syscall`: numbers, since a table would be one more page for a first walk to wait for. */
bool sp_is_restorer(uintptr_t pc, uintptr_t end)
{
    enum { SIZE = 9, LAST = 0x05 };
    return end - pc >= SIZE && sp_load(pc) == UINT64_C(0x0f0000000fc0c748) && ((const uint8_t *)pc)[SIZE - 1] == LAST;
}

static bool find_row_by_code(uintptr_t pc, bool interrupted, uintptr_t lo, uintptr_t hi, uintptr_t function_hi,
                             struct sp_cfi_row *row, struct sp_row_conditions *conditions)
{
    struct sp_code_rule rule;
    if (sp_code_find_rule_in(pc, interrupted, lo, hi, function_hi, &rule) != SP_CODE_OK)
        return false;
    *row = rule.row;
    *conditions =
        (struct sp_row_conditions){.is_from_code = true, .is_aligned = rule.aligned_only, .past_call = rule.past_call};
    return true;
}

bool sp_find_row_by_code(uintptr_t pc, bool interrupted, const struct sp_known_module *known, uintptr_t function_hi,
                         struct sp_cfi_row *row, struct sp_row_conditions *conditions)
{
    uintptr_t lo, hi;
    return sp_module_segment(&known->module, sp_lookup_address(pc, interrupted), PF_R | PF_X, &lo, &hi) &&
           find_row_by_code(pc, interrupted, lo, hi, function_hi != 0 ? function_hi : hi, row, conditions);
}

static void set_return_address_at_sp(uintptr_t pc, struct sp_cfi_row *row)
{
    *row = (struct sp_cfi_row){.lo = pc, .hi = pc + 1, .function_lo = pc, .function_hi = pc + 1};
    row->cfa = (struct sp_cfa){.kind = SP_CFA_REGISTER, .register_number = SP_CFI_RSP, .offset = 8};
    row->rules[SP_CFI_RSP] = (struct sp_cfi_rule){.kind = SP_CFI_VAL_OFFSET, .offset = 0};
    row->rules[SP_CFI_RA] = (struct sp_cfi_rule){.kind = SP_CFI_OFFSET, .offset = -8};
    row->return_register = SP_CFI_RA;
}

/* The end of a nested function's trampoline, after the load of r11: `movabs $chain, %r10; rex.W jmp *%r11`. */
static bool is_in_trampoline(const uint8_t *code)
{
    const unsigned load = 10;
    if (code[0] == 0x49 && code[1] == 0xba)
        code += load;
    return code[0] == 0x49 && code[1] == 0xff && code[2] == 0xe3;
}

bool sp_find_row_without_module(uintptr_t pc, bool interrupted, struct sp_cfi_row *row,
                                struct sp_row_conditions *conditions)
{
    *conditions = (struct sp_row_conditions){.is_from_code = true};
    uintptr_t page = pc & ~(uintptr_t)(PAGE - 1);
    if (page == 0 || page > UINTPTR_MAX - 2 * (uintptr_t)PAGE || !sp_is_readable(page)) {
        /* A call put its return address at SP, and not one instruction has run since. */
        set_return_address_at_sp(pc, row);
        return interrupted;
    }
    if (!interrupted && !sp_follows_call(pc))
        return false;
    /* It may be any memory: it is read as such, and what is looked at is a copy. */
    uint64_t code[32] = {0};
    unsigned words = 0;
    uintptr_t end = page + PAGE;
    while (words < sizeof code / sizeof code[0]) {
        uintptr_t at = pc + 8 * words;
        if (at + 8 > end && (end != page + PAGE || !sp_is_readable(end)))
            break;
        end = at + 8 > end ? end + PAGE : end;
        code[words++] = sp_load(at);
    }
    uintptr_t copy = (uintptr_t)code;
    if (interrupted && is_in_trampoline((const uint8_t *)code)) {
        set_return_address_at_sp(pc, row);
        return true;
    }
    if (!find_row_by_code(copy, interrupted, copy, copy + 8 * words, UINTPTR_MAX, row, conditions))
        return false;
    row->lo = row->function_lo = pc;
    row->hi = row->function_hi = pc + 1;
    return true;
}

bool sp_row_is_ordinary(const struct sp_cfi_row *row)
{
    const struct sp_cfi_rule *ra = &row->rules[SP_CFI_RA], *rsp = &row->rules[SP_CFI_RSP];
    return !row->signal_frame && row->return_register == SP_CFI_RA && ra->kind == SP_CFI_OFFSET && ra->offset == -8 &&
           rsp->kind == SP_CFI_VAL_OFFSET && rsp->offset == 0;
}

/*
 * Corrects the row of an interrupted pc by the instructions next to it. Where they lead back to the caller, the
 * registers that none of them loads are the caller's already, whatever the row says of where they were saved. Returns
 * false where the code has gone to another stack, of which the row does not speak.
 */
static bool correct_by_code(uintptr_t pc, const struct sp_known_module *known, struct sp_cfi_row *row)
{
    uintptr_t lo, hi;
    if (row->cfa.kind != SP_CFA_REGISTER || !sp_row_is_ordinary(row) ||
        !sp_module_segment(&known->module, pc, PF_R | PF_X, &lo, &hi))
        return true;
    uintptr_t function_lo = row->function_lo > lo ? row->function_lo : lo;
    uintptr_t function_hi = row->function_hi < hi ? row->function_hi : hi;
    struct sp_code_straight straight;
    sp_code_read_straight(pc, function_lo, function_hi, row->cfa.register_number, row->cfa.offset, &straight);
    if (straight.way == SP_CODE_ELSEWHERE)
        return !sp_code_has_left_stack(function_lo, pc);
    /* Where the CFA is another than the row's, one of the two is wrong: that shows where they lead (proof.h). */
    bool is_other =
        straight.way == SP_CODE_ON || (straight.has_cfa && straight.cfa_register == row->cfa.register_number &&
                                       straight.cfa_offset != row->cfa.offset);
    for (unsigned i = 0; !is_other && i < SP_CFI_RA; i++)
        if (straight.live >> i & 1)
            row->rules[i] = (struct sp_cfi_rule){.kind = SP_CFI_SAME};
    return true;
}

bool sp_find_row(uintptr_t pc, bool interrupted, const struct sp_known_module *known, struct sp_cfi_row *row,
                 struct sp_row_conditions *conditions)
{
    *conditions = (struct sp_row_conditions){.is_from_code = false};
    enum sp_cfi_status status = SP_CFI_NONE;
    if (known->tables.hdr != 0 || known->tables.eh_frame != 0) {
        status = sp_cfi_find_row(&known->tables, sp_lookup_address(pc, interrupted), row);
        /* Put there by hand, as makecontext does: a function that is returned to though it called nothing. */
        if (status == SP_CFI_NONE && !interrupted && sp_cfi_find_row(&known->tables, pc, row) == SP_CFI_OK &&
            row->function_lo == pc && !sp_follows_call(pc))
            return true;
    }
    if (status == SP_CFI_NONE)
        return sp_find_row_by_code(pc, interrupted, known, 0, row, conditions);
    return status == SP_CFI_OK && (!interrupted || correct_by_code(pc, known, row));
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
    enum { SIZE = 3 };
    uintptr_t lo, hi;
    if (!sp_module_segment(module, function, PF_R | PF_X, &lo, &hi) || hi - function < SIZE)
        return false;
    const uint8_t *at = (const uint8_t *)function;
    return at[0] == 0x48 && at[1] == 0x89 && at[2] == 0xdc;
}

bool sp_row_is_outermost(const struct sp_cfi_row *row, const struct sp_module *module)
{
    return row->rules[row->return_register].kind == SP_CFI_UNDEFINED || takes_over_stack(module, row->function_lo);
}
