/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: arbitrary bytes as DWARF expressions.
 *
 * Sources: src/cfi/encoding.c src/cfi/expression.c
 *
 * Input: 8 bytes of setting, then the segment.
 *
 *     0..3  which registers are known; bit 31: there is an initial value
 *     4..5  the expression's position
 *     6..7  every how-manieth address can't be read; 0: all can
 */
#include "cfi/cfi.h"
#include "guarded.h"

#include <stdlib.h>
#include <string.h>

struct setting {
    uint32_t known;
    uint16_t position;
    uint16_t unreadable;
};

static unsigned reads;

static bool read_word(void *context, uintptr_t address, uint64_t *word, unsigned size)
{
    const struct setting *setting = context;
    if (size != 1 && size != 2 && size != 4 && size != 8)
        abort();
    reads++;
    *word = (address * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - 8 * size);
    return setting->unreadable == 0 || address % setting->unreadable != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct setting setting;
    if (size < sizeof setting || size > GUARDED_MOST)
        return 0;
    memcpy(&setting, data, sizeof setting);
    size -= sizeof setting;
    uintptr_t start = (uintptr_t)guarded_copy(data + sizeof setting, size);
    struct sp_cfi_tables tables = {.segment_lo = start, .segment_hi = start + size, .got = start};

    struct sp_cfi_registers registers = {.known = setting.known};
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
        registers.value[i] = UINT64_C(0x7ffc00001000) * (i + 1);
    const uint64_t initial = UINT64_C(0x7ffc00002000);
    const uint64_t untouched = UINT64_C(0x6a09e667f3bcc908);
    uint64_t value = untouched;
    unsigned needed = SP_CFI_REGISTERS;
    reads = 0;
    enum sp_cfi_result result =
        sp_cfi_evaluate(&tables, setting.position, &registers, setting.known >> 31 ? &initial : NULL, read_word,
                        &setting, &value, &needed);
    if (reads > 1000)
        abort();
    switch (result) {
    case SP_CFI_VALUE:
        break;
    case SP_CFI_NEEDS_REGISTER:
        if (needed >= SP_CFI_REGISTERS || setting.known >> needed & 1)
            abort();
        break;
    case SP_CFI_UNREADABLE:
    case SP_CFI_INVALID:
        break;
    default:
        abort();
    }
    if (result != SP_CFI_VALUE && value != untouched)
        abort();
    return 0;
}
