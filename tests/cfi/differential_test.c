/* SPDX-License-Identifier: MIT */
/*
 * Every row of real files against a second opinion, elfutils' libdw.
 *
 * Usage: cfi-differential [FILE...]; without arguments the modules that this process has loaded, among them libc,
 * ld.so, libstdc++ and libcrypto, and a few programs. All executable sections are gone through from row to row; at each
 * row's first and last address, and at one between, both readers are asked. In gaps every address is asked. Prints
 * counts and the first differences; exits with 1 where there are any.
 */
#include "elf_tables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>

#define DIFFERENCES_SHOWN 20

/* Registers that libdw takes for undefined where they have no rule. */
#define UNDEFINED_BY_DEFAULT 0xf3eu

struct counts {
    unsigned long files, functions, rows, look_ups, gaps, expressions, differences;
};

static struct counts counts;

static void difference(const char *path, Dwarf_Addr pc, const char *what)
{
    if (counts.differences++ < DIFFERENCES_SHOWN)
        fprintf(stderr, "%s: %#lx: %s differs\n", path, (unsigned long)pc, what);
}

/* Whether a block of ours holds the operations that libdw decoded: each at its offset, and nothing else. */
static bool same_expression(const struct elf_tables *file, uint32_t expression, const Dwarf_Op *operations,
                            size_t count)
{
    counts.expressions++;
    const uint8_t *block = (const uint8_t *)file->tables.segment_lo + expression;
    if (block[0] >= 0x80 || count == 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (operations[i].offset >= block[0] || block[1 + operations[i].offset] != operations[i].atom)
            return false;
    return true;
}

static bool same_cfa(const struct elf_tables *file, const struct sp_cfa *cfa, Dwarf_Frame *frame)
{
    Dwarf_Op *operations;
    size_t count;
    if (dwarf_frame_cfa(frame, &operations, &count) != 0)
        return false;
    if (cfa->kind == SP_CFA_EXPRESSION)
        return same_expression(file, cfa->expression, operations, count);
    return count == 1 && operations[0].atom == DW_OP_bregx && operations[0].number == cfa->register_number &&
           (int64_t)operations[0].number2 == cfa->offset;
}

static bool same_offset(const Dwarf_Op *operations, size_t count, int32_t offset, bool is_value)
{
    if (is_value && (count == 0 || operations[--count].atom != DW_OP_stack_value))
        return false;
    if (count == 0 || operations[0].atom != DW_OP_call_frame_cfa)
        return false;
    if (offset == 0)
        return count == 1;
    return count == 2 && operations[1].atom == DW_OP_plus_uconst && (int64_t)operations[1].number == offset;
}

static bool same_rule(const struct elf_tables *file, const struct sp_cfi_rule *rule, unsigned number,
                      Dwarf_Frame *frame)
{
    Dwarf_Op memory[3], *operations;
    size_t count;
    if (dwarf_frame_register(frame, (int)number, memory, &operations, &count) != 0)
        return false;
    switch (rule->kind) {
    case SP_CFI_SAME:
        return count == 0 && (operations == NULL || (UNDEFINED_BY_DEFAULT >> number & 1));
    case SP_CFI_UNDEFINED:
        return count == 0 && operations != NULL;
    case SP_CFI_OFFSET:
    case SP_CFI_VAL_OFFSET:
        return same_offset(operations, count, rule->offset, rule->kind == SP_CFI_VAL_OFFSET);
    case SP_CFI_REGISTER:
        return count == 1 && operations[0].atom == DW_OP_regx && operations[0].number == rule->source;
    case SP_CFI_VAL_EXPRESSION:
        if (count == 0 || operations[--count].atom != DW_OP_stack_value)
            return false;
        /* fall through */
    default:
        return count != 0 && operations[0].atom == DW_OP_call_frame_cfa &&
               same_expression(file, rule->expression, operations + 1, count - 1);
    }
}

static void compare_row(const char *path, const struct elf_tables *file, Dwarf_Addr pc, Dwarf_Frame *frame)
{
    counts.look_ups++;
    struct sp_cfi_row row;
    if (sp_cfi_find_row(&file->tables, pc + file->bias, &row) != SP_CFI_OK) {
        difference(path, pc, "whether there is a row");
        return;
    }
    Dwarf_Addr start, end;
    bool signal_frame;
    int return_register = dwarf_frame_info(frame, &start, &end, &signal_frame);
    /* libdw's start is that of an earlier row after DW_CFA_restore_state. */
    if (row.lo < start + file->bias || row.hi != end + file->bias)
        difference(path, pc, "the row's extent");
    if (row.return_register != return_register)
        difference(path, pc, "the return address column");
    if (row.signal_frame != signal_frame)
        difference(path, pc, "whether it is a signal frame");
    if (!same_cfa(file, &row.cfa, frame))
        difference(path, pc, "the CFA");
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++) {
        if (!same_rule(file, &row.rules[i], i, frame)) {
            char what[32];
            snprintf(what, sizeof what, "the rule of register %u", i);
            difference(path, pc, what);
        }
    }
}

/* Goes through the addresses of a section. */
static void compare_section(const char *path, const struct elf_tables *file, Dwarf_CFI *cfi, const GElf_Shdr *section)
{
    Dwarf_Addr end_of_section = section->sh_addr + section->sh_size;
    for (Dwarf_Addr pc = section->sh_addr; pc < end_of_section;) {
        struct sp_cfi_row row;
        Dwarf_Frame *frame;
        if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0) {
            counts.gaps++;
            if (sp_cfi_find_row(&file->tables, pc + file->bias, &row) != SP_CFI_NONE)
                difference(path, pc, "whether there is a row");
            pc++;
            continue;
        }
        Dwarf_Addr start, end;
        bool signal_frame;
        dwarf_frame_info(frame, &start, &end, &signal_frame);
        counts.rows++;
        if (sp_cfi_find_row(&file->tables, pc + file->bias, &row) == SP_CFI_OK) {
            counts.functions += row.lo == row.function_lo;
            if (row.lo != pc + file->bias)
                difference(path, pc, "the row's start");
        }
        compare_row(path, file, pc, frame);
        if (end - pc > 1)
            compare_row(path, file, end - 1, frame);
        if (end - pc > 2)
            compare_row(path, file, pc + 1 + (Dwarf_Addr)rand() % (end - pc - 2), frame);
        free(frame);
        pc = end;
    }
}

static void compare_file(const char *path, void *context)
{
    (void)context;
    struct elf_tables file;
    if (!elf_tables_open(&file, path)) {
        printf("%s: not there, or no ELF file with .eh_frame_hdr\n", path);
        return;
    }
    Dwarf_CFI *cfi = dwarf_getcfi_elf(file.elf);
    if (cfi == NULL) {
        difference(path, 0, "libdw can't read the tables; that");
    } else {
        struct counts before = counts;
        counts.files++;
        Elf_Scn *section = NULL;
        while ((section = elf_nextscn(file.elf, section)) != NULL) {
            GElf_Shdr header;
            if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR && header.sh_type == SHT_PROGBITS)
                compare_section(path, &file, cfi, &header);
        }
        printf("%s: %lu functions, %lu rows, %lu look-ups, %lu addresses in gaps\n", path,
               counts.functions - before.functions, counts.rows - before.rows, counts.look_ups - before.look_ups,
               counts.gaps - before.gaps);
        dwarf_cfi_end(cfi);
    }
    elf_tables_close(&file);
}

int main(int argc, char **argv)
{
    srand(1);
    each_real_file(argc, argv, compare_file, NULL);
    printf("%lu files, %lu functions, %lu rows, %lu look-ups, %lu expressions, %lu addresses in gaps: "
           "%lu differences\n",
           counts.files, counts.functions, counts.rows, counts.look_ups, counts.expressions, counts.gaps,
           counts.differences);
    return counts.files > 0 && counts.rows > 0 && counts.differences == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
