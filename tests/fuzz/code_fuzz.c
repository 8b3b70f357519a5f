/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: arbitrary bytes as instructions, read from arbitrary places.
 *
 * Sources: src/code/instruction.c src/code/machine.c src/code/opcodes.c src/code/operation.c src/code/path.c
 *
 * Input: 4 bytes of setting, then the code.
 *
 *     0..1  where reading starts, from the code's start
 *     2     bit 0: interrupted there
 *     3     bytes at the front that may not be read
 */
#include "code/code.h"
#include "code/instruction.h"
#include "guarded.h"

#include <stdlib.h>
#include <string.h>

struct setting {
    uint16_t start;
    uint8_t interrupted;
    uint8_t front;
};

static void check_instructions(uintptr_t at, uintptr_t end)
{
    struct sp_instruction instruction;
    while (sp_instruction_read(at, end, &instruction)) {
        if (instruction.length == 0 || instruction.length > 15 || instruction.length > end - at)
            abort();
        if (instruction.source > SP_HW_NONE || instruction.destination > SP_HW_NONE ||
            instruction.memory.base > SP_HW_NONE || instruction.memory.index > SP_HW_NONE ||
            instruction.operation > SP_CONSTANT || instruction.stored > 64)
            abort();
        at += instruction.length;
    }
}

/* What code.h promises of a rule. */
static void check_rule(uintptr_t pc, const struct sp_code_rule *rule)
{
    const struct sp_cfi_row *row = &rule->row;
    if (row->lo != pc || row->hi != pc + 1 || row->return_register != SP_CFI_RA || row->signal_frame ||
        row->cfa.kind != SP_CFA_REGISTER || row->cfa.offset < 8 ||
        (row->cfa.register_number != SP_CFI_RSP && row->cfa.register_number != SP_CFI_RBP) ||
        (rule->aligned_only && !rule->past_call))
        abort();
    for (unsigned i = 0; i < SP_CFI_RSP; i++)
        if (row->rules[i].kind == SP_CFI_OFFSET
                ? row->rules[i].offset > -16
                : row->rules[i].kind != SP_CFI_SAME && row->rules[i].kind != SP_CFI_UNDEFINED)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct setting setting;
    if (size < sizeof setting || size > GUARDED_MOST)
        return 0;
    memcpy(&setting, data, sizeof setting);
    size -= sizeof setting;
    if (setting.front > size)
        setting.front = 0;
    uintptr_t lo = (uintptr_t)guarded_copy(data + sizeof setting + setting.front, size - setting.front);
    uintptr_t hi = lo + size - setting.front;
    uintptr_t pc = lo - setting.front + setting.start;
    if (pc >= lo && pc < hi)
        check_instructions(pc, hi);
    struct sp_code_rule rule;
    switch (sp_code_find_rule(pc, setting.interrupted & 1, lo, hi, &rule)) {
    case SP_CODE_OK:
        check_rule(pc, &rule);
        break;
    case SP_CODE_UNKNOWN:
        break;
    default:
        abort();
    }
    return 0;
}
