/* SPDX-License-Identifier: MIT */
/*
 * Code that has call frame information, read as if it had none: each answer must be what that says.
 *
 * Usage: code-differential [FILE...]; without arguments a third of the functions of the files that cfi-differential
 * takes. At every instruction of every function with an FDE both are asked, as for an interrupted pc and, after a call,
 * as for a return address. An answer of "unknown" is allowed. An answer that rests on a call's coming back may be wrong
 * where the call does not; these are counted, and are what the check of the return address is for.
 *
 * Functions whose call frame information contradicts their own pushes and pops are left out, and named: hand-written
 * assembly has some.
 *
 * Prints counts and the first differences; exits with 1 where an answer that rests on no call differs, or more than one
 * in a thousand of the others.
 */
#include "../cfi/elf_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/code.h"
#include "code/instruction.h"
#include "code/machine.h"

#define DIFFERENCES_SHOWN 30

static const uint8_t callee_saved[] = {SP_HW_RBX, SP_HW_RBP, 12, 13, 14, 15};
static const uint8_t dwarf[] = {SP_CFI_RBX, SP_CFI_RBP, 12, 13, 14, 15};

struct counts {
    unsigned long asked;   /* where both may be compared */
    unsigned long same;    /* the same CFA */
    unsigned long unknown; /* no answer, or one that does not hold because of the alignment */
    unsigned long apart;   /* by rsp here and by rbp there */
    unsigned long registers, registers_unknown;
    unsigned long past_call; /* differences of answers that rest on a call's coming back */
    unsigned long differences;
};

static struct counts counts[2]; /* for return addresses, and for interrupted pcs */

static void difference(const char *path, const struct elf_tables *file, uintptr_t pc, bool interrupted, bool past_call,
                       const char *what)
{
    if (past_call)
        counts[interrupted].past_call++;
    else if (counts[interrupted].differences++ < DIFFERENCES_SHOWN)
        fprintf(stderr, "%s: %#lx%s: %s differs\n", path, (unsigned long)(pc - file->bias),
                interrupted ? "" : " (return address)", what);
}

/* What is known of a function at a place from its own start, as long as that runs straight on. */
struct forward {
    struct sp_machine machine;
    bool known;
    uint16_t restored; /* registers that were loaded from the stack since the last jump, and not written since */
    uint16_t changed;  /* registers that the function changes otherwise, anywhere */
};

/* Both say where a register's value is, and differently: it may be in both places. */
static bool is_in_both(const struct forward *forward, unsigned number, int32_t slot)
{
    struct sp_value saved = sp_machine_load(&forward->machine, (struct sp_value){SP_HW_RSP, 8 + slot});
    return forward->known && saved.origin == number && saved.offset == 0;
}

static bool same_register(const struct sp_cfi_rule *rule, const struct sp_cfi_rule *read, unsigned number,
                          const struct forward *forward)
{
    if (rule->kind == SP_CFI_OFFSET && read->kind == SP_CFI_SAME) /* restored already, or only saved for nothing */
        return forward->restored >> number & 1 || !(forward->changed >> number & 1);
    if (rule->kind == SP_CFI_SAME && read->kind == SP_CFI_OFFSET)
        return is_in_both(forward, number, read->offset);
    return rule->kind == read->kind && (rule->kind == SP_CFI_SAME || rule->offset == read->offset);
}

static void compare_registers(const char *path, const struct elf_tables *file, uintptr_t pc, bool interrupted,
                              const struct sp_cfi_row *row, const struct sp_code_rule *answer,
                              const struct forward *forward)
{
    for (unsigned i = 0; i < sizeof callee_saved; i++) {
        const struct sp_cfi_rule *rule = &row->rules[dwarf[i]], *read = &answer->row.rules[dwarf[i]];
        counts[interrupted].registers++;
        if (read->kind == SP_CFI_UNDEFINED)
            counts[interrupted].registers_unknown++;
        else if (!same_register(rule, read, callee_saved[i], forward))
            difference(path, file, pc, interrupted, answer->past_call, "a callee-saved register");
    }
}

static bool has_usual_row(const struct elf_tables *file, uintptr_t pc, struct sp_cfi_row *row)
{
    return sp_cfi_find_row(&file->tables, pc, row) == SP_CFI_OK && row->cfa.kind == SP_CFA_REGISTER &&
           !row->signal_frame && row->rules[SP_CFI_RA].kind == SP_CFI_OFFSET;
}

static void compare(const char *path, const struct elf_tables *file, uintptr_t pc, bool interrupted,
                    const struct forward *forward)
{
    struct sp_cfi_row row;
    struct counts *count = &counts[interrupted];
    if (!has_usual_row(file, pc - !interrupted, &row))
        return;
    count->asked++;
    struct sp_code_rule rule;
    if (sp_code_find_rule(pc, interrupted, file->code_lo, file->code_hi, &rule) != SP_CODE_OK) {
        count->unknown++;
        return;
    }
    int32_t apart = rule.row.cfa.offset - row.cfa.offset;
    if (rule.row.cfa.register_number != row.cfa.register_number) {
        count->apart++;
    } else if (apart == 0) {
        count->same++;
        compare_registers(path, file, pc, interrupted, &row, &rule, forward);
    } else if (rule.aligned_only && apart % 16 != 0) { /* the right CFA is a multiple of 16 */
        count->unknown++;
    } else {
        difference(path, file, pc, interrupted, rule.past_call, "the CFA");
    }
}

/* Padding after what does not go on is never executed; what a call does is not known. */
static bool is_nop(uintptr_t pc, const struct sp_instruction *instruction)
{
    const uint8_t *bytes = (const uint8_t *)pc;
    unsigned i = 0;
    while (bytes[i] == 0x66 || bytes[i] == 0x2e)
        i++;
    return bytes[i] == 0x90 || (i + 2 < instruction->length && bytes[i] == 0x0f && bytes[i + 1] == 0x1f);
}

static bool goes_on(const struct sp_instruction *instruction)
{
    return instruction->operation != SP_RETURN && instruction->operation != SP_JUMP &&
           instruction->operation != SP_JUMP_SLOT && instruction->operation != SP_JUMP_AWAY &&
           instruction->operation != SP_STOP;
}

/* The registers that an instruction changes otherwise than by taking them from memory. */
static uint16_t changes(const struct sp_instruction *instruction)
{
    switch (instruction->operation) {
    case SP_POP:
    case SP_LOAD:
    case SP_LEAVE:
        return 0;
    default:
        return instruction->written;
    }
}

static void step_forward(struct forward *forward, const struct sp_instruction *instruction)
{
    sp_machine_execute(&forward->machine, instruction);
    forward->known = forward->known && goes_on(instruction);
    if ((instruction->operation == SP_POP || instruction->operation == SP_LOAD) &&
        instruction->destination != SP_HW_NONE)
        forward->restored |= (uint16_t)(1u << instruction->destination);
    else if (instruction->operation == SP_LEAVE)
        forward->restored |= 1u << SP_HW_RBP;
    else
        forward->restored &= (uint16_t)~instruction->written;
    if (!goes_on(instruction))
        forward->restored = 0;
}

static uint16_t all_changes(uintptr_t lo, uintptr_t hi)
{
    uint16_t changed = 0;
    struct sp_instruction instruction;
    for (uintptr_t pc = lo; pc < hi && sp_instruction_read(pc, hi, &instruction); pc += instruction.length)
        changed |= changes(&instruction);
    return changed;
}

/* Whether the function's rows are what its first instructions, run from its start, make of rsp, and right at returns.
 */
static bool is_consistent(const struct elf_tables *file, uintptr_t lo, uintptr_t hi)
{
    struct forward forward = {.known = true};
    sp_machine_enter(&forward.machine);
    struct sp_instruction instruction;
    for (uintptr_t pc = lo; pc < hi && sp_instruction_read(pc, hi, &instruction); pc += instruction.length) {
        struct sp_cfi_row row;
        if (has_usual_row(file, pc, &row)) {
            bool by_rsp = row.cfa.register_number == SP_CFI_RSP;
            struct sp_value base = forward.machine.registers[by_rsp ? SP_HW_RSP : SP_HW_RBP];
            if (forward.known && base.origin == SP_HW_RSP && base.offset + row.cfa.offset != 8)
                return false;
            if (instruction.operation == SP_RETURN && (!by_rsp || row.cfa.offset != 8))
                return false;
        }
        step_forward(&forward, &instruction);
    }
    return true;
}

static void compare_function(const char *path, const struct elf_tables *file, uintptr_t lo, uintptr_t hi)
{
    struct sp_cfi_row row;
    bool starts = sp_cfi_find_row(&file->tables, lo, &row) == SP_CFI_OK && row.cfa.register_number == SP_CFI_RSP &&
                  row.cfa.offset == 8; /* else it is the cold part of one */
    if (starts && !is_consistent(file, lo, hi)) {
        printf("%s: %#lx: call frame information contradicts the code\n", path, (unsigned long)(lo - file->bias));
        return;
    }
    struct forward forward = {.known = starts, .changed = all_changes(lo, hi)};
    sp_machine_enter(&forward.machine);
    struct sp_instruction instruction;
    bool after_call = false, reached = true;
    uintptr_t pc = lo;
    for (; pc < hi && sp_instruction_read(pc, hi, &instruction); pc += instruction.length) {
        bool padding = is_nop(pc, &instruction) && (!reached || after_call);
        if (!padding)
            compare(path, file, pc, true, &forward);
        if (after_call)
            compare(path, file, pc, false, &forward);
        reached = goes_on(&instruction) && (!padding || reached);
        after_call = instruction.operation == SP_CALL || instruction.operation == SP_CALL_SLOT;
        step_forward(&forward, &instruction);
    }
    if (after_call && pc == hi) /* of something that does not return */
        compare(path, file, pc, false, &forward);
}

static void compare_file(const char *path, void *context)
{
    const unsigned *every = context;
    unsigned functions = 0;
    struct elf_tables file;
    if (!elf_tables_open(&file, path))
        return;
    struct counts before[2];
    memcpy(before, counts, sizeof before);
    for (uintptr_t pc = file.code_lo; pc < file.code_hi;) {
        struct sp_cfi_row row;
        if (sp_cfi_find_row(&file.tables, pc, &row) != SP_CFI_OK) {
            pc++;
            continue;
        }
        if (functions++ % *every == 0)
            compare_function(path, &file, row.function_lo, row.function_hi);
        pc = row.function_hi;
    }
    printf("%s: %lu of %lu instructions, %lu of %lu return addresses\n", path, counts[1].same - before[1].same,
           counts[1].asked - before[1].asked, counts[0].same - before[0].same, counts[0].asked - before[0].asked);
    elf_tables_close(&file);
}

int main(int argc, char **argv)
{
    unsigned every = argc > 1 ? 1 : 3;
    each_real_file(argc, argv, compare_file, &every);
    bool good = true;
    for (unsigned interrupted = 0; interrupted < 2; interrupted++) {
        const struct counts *count = &counts[interrupted];
        printf("%s: %lu asked, %lu the same, %lu unknown, %lu by the other register; of %lu callee-saved registers %lu "
               "unknown; %lu differences past calls, %lu others\n",
               interrupted ? "interrupted pcs" : "return addresses", count->asked, count->same, count->unknown,
               count->apart, count->registers, count->registers_unknown, count->past_call, count->differences);
        good = good && count->same > 0 && count->differences == 0 && count->past_call < count->asked / 1000;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
