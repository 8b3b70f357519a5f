/* SPDX-License-Identifier: MIT */
/*
 * The real tables of ld.so, cut off and damaged: copied so that they end at an inaccessible page, which any read past
 * their end would hit. What is still found must be what the whole tables say.
 */
#include "elf_tables.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PROBES 64
#define PAGE 4096

static struct elf_tables file;
static uint8_t *guard; /* the inaccessible page */
static size_t size;    /* from .eh_frame_hdr to the end of .eh_frame */
static struct sp_cfi_row rows[PROBES];
static uintptr_t pcs[PROBES];

static void open_loader(const char *path, void *context)
{
    (void)context;
    if (strstr(path, "/ld-linux-x86-64.so.2") && file.elf == NULL)
        ck_assert(elf_tables_open(&file, path));
}

/* After the terminator, or where there is none at the segment's end. */
static uintptr_t end_of_eh_frame(void)
{
    uintptr_t at = file.tables.hdr + 4 + (uintptr_t)(intptr_t) * (const int32_t *)(file.tables.hdr + 4);
    ck_assert_uint_gt(at, file.tables.hdr);
    while (at < file.tables.segment_hi && *(const uint32_t *)at != 0)
        at += 4 + *(const uint32_t *)at;
    ck_assert_uint_le(at, file.tables.segment_hi);
    return at < file.tables.segment_hi ? at + 4 : at;
}

static void setup(void)
{
    each_loaded_file(open_loader, NULL);
    ck_assert_ptr_nonnull(file.elf);
    size = end_of_eh_frame() - file.tables.hdr;
    size_t room = (size + PAGE - 1) / PAGE * PAGE;
    uint8_t *memory = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    guard = memory + room;
    ck_assert_int_eq(mprotect(guard, PAGE, PROT_NONE), 0);

    /* Functions all over the table. */
    unsigned found = 0;
    const int32_t *table = (const int32_t *)(file.tables.hdr + 12);
    uint32_t count = *(const uint32_t *)(file.tables.hdr + 8);
    ck_assert_uint_gt(count, PROBES);
    for (unsigned i = 0; i < PROBES; i++) {
        pcs[i] = file.tables.hdr + (uintptr_t)(intptr_t)table[2 * (i * (count - 1) / (PROBES - 1))] + i % 5;
        if (sp_cfi_find_row(&file.tables, pcs[i], &rows[i]) == SP_CFI_OK)
            found++;
        else
            rows[i].cfa.kind = SP_CFA_UNSET;
    }
    ck_assert_uint_gt(found, PROBES / 2);
}

/* The first bytes of .eh_frame_hdr and what follows it, so that they end at the guard. */
static struct sp_cfi_tables copy_tables(size_t kept)
{
    uint8_t *start = guard - kept;
    memcpy(start, (const void *)file.tables.hdr, kept);
    size_t hdr_size = file.tables.hdr_end - file.tables.hdr;
    return (struct sp_cfi_tables){
        .hdr = (uintptr_t)start,
        .hdr_end = (uintptr_t)start + (hdr_size < kept ? hdr_size : kept),
        .segment_lo = (uintptr_t)start,
        .segment_hi = (uintptr_t)guard,
    };
}

/* Not by ck_assert at each field: that writes a message each time, here millions. */
static bool same_row(const struct sp_cfi_row *row, const struct sp_cfi_row *expected, uintptr_t moved)
{
    bool same = row->lo == expected->lo + moved && row->hi == expected->hi + moved &&
                row->cfa.kind == expected->cfa.kind && row->cfa.register_number == expected->cfa.register_number &&
                (row->cfa.kind == SP_CFA_EXPRESSION || row->cfa.offset == expected->cfa.offset);
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++) {
        same = same && row->rules[i].kind == expected->rules[i].kind;
        if (row->rules[i].kind == SP_CFI_OFFSET)
            same = same && row->rules[i].offset == expected->rules[i].offset;
    }
    return same;
}

static bool read_nothing(void *context, uintptr_t address, uint64_t *word, unsigned bytes)
{
    (void)context;
    (void)address;
    (void)bytes;
    *word = 0;
    return true;
}

/* Evaluates what a damaged row may have for expressions. */
static void evaluate_all(const struct sp_cfi_tables *tables, const struct sp_cfi_row *row)
{
    const struct sp_cfi_registers registers = {.known = 0x1ffff};
    const uint64_t cfa = 0x1000;
    uint64_t value;
    if (row->cfa.kind == SP_CFA_EXPRESSION)
        sp_cfi_evaluate(tables, row->cfa.expression, &registers, NULL, read_nothing, NULL, &value, NULL);
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
        if (row->rules[i].kind == SP_CFI_EXPRESSION || row->rules[i].kind == SP_CFI_VAL_EXPRESSION)
            sp_cfi_evaluate(tables, row->rules[i].expression, &registers, &cfa, read_nothing, NULL, &value, NULL);
}

START_TEST(cut_with_table)
{
    unsigned found = 0;
    for (size_t kept = 0; kept <= size; kept++) {
        struct sp_cfi_tables tables = copy_tables(kept);
        uintptr_t moved = tables.hdr - file.tables.hdr;
        for (unsigned i = 0; i < PROBES; i++) {
            struct sp_cfi_row row;
            if (sp_cfi_find_row(&tables, pcs[i] + moved, &row) != SP_CFI_OK)
                continue;
            if (!same_row(&row, &rows[i], moved))
                ck_abort_msg("%zu bytes kept: another row for probe %u", kept, i);
            evaluate_all(&tables, &row);
            found++;
        }
    }
    ck_assert_uint_gt(found, size);
}
END_TEST

START_TEST(cut_without_table)
{
    for (size_t kept = 0; kept <= size; kept++) {
        struct sp_cfi_tables tables = copy_tables(kept);
        if (kept > 3)
            memset(guard - kept + 2, 0xff, 2);
        uintptr_t moved = tables.hdr - file.tables.hdr;
        struct sp_cfi_row row;
        if (sp_cfi_find_row(&tables, 1, &row) == SP_CFI_OK) /* reads them all */
            ck_abort_msg("%zu bytes kept: a row for address 1", kept);
        unsigned i = kept % PROBES;
        if (sp_cfi_find_row(&tables, pcs[i] + moved, &row) == SP_CFI_OK && !same_row(&row, &rows[i], moved))
            ck_abort_msg("%zu bytes kept: another row for probe %u", kept, i);
    }
}
END_TEST

/* Damage: bytes, shifts and copies at pseudo-random places. Nothing is known of the answer but its form. */
START_TEST(damaged)
{
    srand(1);
    for (unsigned round = 0; round < 20000; round++) {
        struct sp_cfi_tables tables = copy_tables(size);
        uint8_t *start = guard - size;
        for (unsigned i = 0; i < 1u << (round % 12); i++) {
            size_t at = (size_t)rand() % size;
            size_t length = (size_t)rand() % 32;
            if (length > size - at)
                length = size - at;
            switch (rand() % 4) {
            case 0:
                start[at] = (uint8_t)rand();
                break;
            case 1:
                start[at] ^= (uint8_t)(1 << rand() % 8);
                break;
            case 2:
                memset(start + at, rand() % 2 ? 0xff : 0x80, length);
                break;
            default:
                memmove(start + (size_t)rand() % (size - length), start + at, length);
            }
        }
        if (round % 4 == 0)
            memset(start + 2, 0xff, 2);
        uintptr_t moved = tables.hdr - file.tables.hdr;
        for (unsigned i = round % 4; i < PROBES; i += 4) {
            struct sp_cfi_row row;
            uintptr_t pc = pcs[i] + moved;
            if (sp_cfi_find_row(&tables, pc, &row) != SP_CFI_OK)
                continue;
            if (!(row.function_lo <= row.lo && row.lo <= pc && pc < row.hi && row.hi <= row.function_hi) ||
                (row.cfa.kind != SP_CFA_REGISTER && row.cfa.kind != SP_CFA_EXPRESSION))
                ck_abort_msg("round %u: a row that can't be, for probe %u", round, i);
            evaluate_all(&tables, &row);
        }
    }
}
END_TEST

Suite *real_suite(void)
{
    Suite *suite = suite_create("cfi real tables");
    TCase *tests = tcase_create("real tables");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, cut_with_table);
    tcase_add_test(tests, cut_without_table);
    tcase_add_test(tests, damaged);
    suite_add_tcase(suite, tests);
    return suite;
}
