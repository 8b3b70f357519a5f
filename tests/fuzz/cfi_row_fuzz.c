/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: unwind tables of arbitrary bytes, looked up at arbitrary addresses, and the expressions found there.
 *
 * Sources: src/cfi/encoding.c src/cfi/expression.c src/cfi/fde.c src/cfi/program.c src/cfi/search.c
 *
 * Input: 16 bytes that say where things are, then the segment.
 *
 *     0..3    the address to look up, from the segment's start (signed)
 *     4..5    .eh_frame_hdr, from the segment's start
 *     6..7    its size
 *     8..11   the base of datarel, from the segment's start; 0: unknown
 *     12..15  which registers are known
 */
#include "cfi/cfi.h"
#include "guarded.h"

#include <stdlib.h>
#include <string.h>

struct places {
    int32_t pc;
    uint16_t hdr, hdr_size;
    uint32_t got;
    uint32_t known;
};

static bool read_word(void *context, uintptr_t address, uint64_t *word, unsigned size)
{
    (void)context;
    *word = (address * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - 8 * size);
    return address % 11 != 0;
}

static void evaluate(const struct sp_cfi_tables *tables, uint32_t expression, uint32_t known, const uint64_t *initial)
{
    struct sp_cfi_registers registers = {.known = known};
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
        registers.value[i] = UINT64_C(0x7ffc00001000) + 8 * i;
    uint64_t value;
    unsigned needed = SP_CFI_REGISTERS;
    enum sp_cfi_result result =
        sp_cfi_evaluate(tables, expression, &registers, initial, read_word, NULL, &value, &needed);
    if (result > SP_CFI_INVALID ||
        (result == SP_CFI_NEEDS_REGISTER && (needed >= SP_CFI_REGISTERS || known >> needed & 1)))
        abort();
}

/* What cfi.h promises of a row. */
static void check_row(const struct sp_cfi_tables *tables, uintptr_t pc, const struct sp_cfi_row *row, uint32_t known)
{
    if (row->function_lo > row->lo || row->lo > pc || pc >= row->hi || row->hi > row->function_hi ||
        row->return_register >= SP_CFI_REGISTERS)
        abort();
    if (row->cfa.kind == SP_CFA_EXPRESSION)
        evaluate(tables, row->cfa.expression, known, NULL);
    else if (row->cfa.kind != SP_CFA_REGISTER || row->cfa.register_number >= SP_CFI_REGISTERS)
        abort();
    const uint64_t cfa = UINT64_C(0x7ffc00002000);
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++) {
        const struct sp_cfi_rule *rule = &row->rules[i];
        if (rule->kind == SP_CFI_EXPRESSION || rule->kind == SP_CFI_VAL_EXPRESSION)
            evaluate(tables, rule->expression, known, &cfa);
        else if (rule->kind > SP_CFI_VAL_EXPRESSION ||
                 (rule->kind == SP_CFI_REGISTER && rule->source >= SP_CFI_REGISTERS))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct places places;
    if (size < sizeof places || size > GUARDED_MOST)
        return 0;
    memcpy(&places, data, sizeof places);
    size -= sizeof places;
    uintptr_t start = (uintptr_t)guarded_copy(data + sizeof places, size);
    struct sp_cfi_tables tables = {
        .hdr = start + places.hdr,
        .hdr_end = start + places.hdr + places.hdr_size,
        .segment_lo = start,
        .segment_hi = start + size,
        .got = places.got ? start + places.got : 0,
    };
    /* Sometimes as in a module without .eh_frame_hdr. */
    if (places.hdr_size == 0) {
        tables.hdr = 0;
        tables.eh_frame = sp_cfi_find_eh_frame(start, start + size, start, start + size);
        if (tables.eh_frame != 0 && (tables.eh_frame < start || tables.eh_frame - start >= size))
            abort();
    }
    /* The address itself, then the neighbours of the rows found. */
    uintptr_t pc = start + (uintptr_t)(intptr_t)places.pc;
    for (unsigned i = 0; i < 6; i++) {
        struct sp_cfi_row row;
        enum sp_cfi_status status = sp_cfi_find_row(&tables, pc, &row);
        if (status > SP_CFI_BAD)
            abort();
        if (status != SP_CFI_OK)
            break;
        check_row(&tables, pc, &row, places.known);
        pc = i < 3 ? row.hi : row.lo - 1;
    }
    return 0;
}
