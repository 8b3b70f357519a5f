/* SPDX-License-Identifier: MIT */
/* .eh_frame_hdr: the search in its table, and the scan where that can't be used. */
#include "image.h"
#include "suites.h"

#include <string.h>

#define FUNCTIONS 37

static struct image image;
static struct sp_cfi_row row;
static uintptr_t code;
static size_t cie;
static size_t fdes[FUNCTIONS];

static enum sp_cfi_status look_up(uintptr_t pc)
{
    struct sp_cfi_tables tables = image_tables(&image);
    return sp_cfi_find_row(&tables, pc, &row);
}

/* Function i is [code + 64 i, code + 64 i + 48), so there are gaps, and its CFA is rsp + 8 i + 8. */
static uintptr_t function(size_t i)
{
    return code + 64 * i;
}

static void add_functions(size_t count)
{
    cie = image_cie(&image, &(struct image_cie){0});
    for (size_t i = 0; i < count; i++) {
        const uint8_t instructions[] = {0x0e, (uint8_t)(8 * i + 8) | 0x80, (uint8_t)((8 * i + 8) >> 7)};
        fdes[i] = image_fde(&image, cie, function(i), 48, instructions, sizeof instructions);
    }
    image_terminator(&image);
}

static void assert_all_found(size_t count)
{
    ck_assert_int_eq(look_up(code - 1), SP_CFI_NONE);
    for (size_t i = 0; i < count; i++) {
        const uintptr_t offsets[] = {0, 1, 47};
        for (size_t k = 0; k < 3; k++) {
            ck_assert_int_eq(look_up(function(i) + offsets[k]), SP_CFI_OK);
            ck_assert_uint_eq(row.function_lo, function(i));
            ck_assert_uint_eq(row.function_hi, function(i) + 48);
            ck_assert_int_eq(row.cfa.offset, 8 * i + 8);
        }
        ck_assert_int_eq(look_up(function(i) + 48), SP_CFI_NONE);
        ck_assert_int_eq(look_up(function(i) + 63), SP_CFI_NONE);
    }
    ck_assert_int_eq(look_up(0), SP_CFI_NONE);
    ck_assert_int_eq(look_up(UINTPTR_MAX), SP_CFI_NONE);
}

static void setup(void)
{
    image_make(&image);
    code = image_address(&image, 0) + 0x1000000;
}

/* A header with a table of pointers of an encoding; the pointers are put in later, when the FDEs' places are known. */
static size_t table_begin(uint8_t count_encoding, uint8_t table_encoding, size_t count, unsigned pointer_size)
{
    image.hdr = image.size;
    image_bytes(&image, IMAGE_BYTES(1, 0x1b, count_encoding, table_encoding));
    image_u32(&image, 0);
    if ((count_encoding & 7) == 2)
        image_u16(&image, (uint16_t)count);
    else if ((count_encoding & 7) == 3)
        image_u32(&image, (uint32_t)count);
    else
        image_u64(&image, count);
    size_t table = image.size;
    for (size_t i = 0; i < 2 * count * pointer_size; i++)
        image_u8(&image, 0);
    return table;
}

static void table_set(size_t table, size_t index, uint8_t encoding, unsigned pointer_size, uintptr_t lo, size_t fde)
{
    size_t at = table + 2 * index * pointer_size;
    uintptr_t values[2] = {lo, image_address(&image, fde)};
    for (unsigned i = 0; i < 2; i++) {
        if ((encoding & 0x70) == 0x30)
            values[i] -= image_address(&image, image.hdr);
        if ((encoding & 0x70) == 0x10)
            values[i] -= image_address(&image, at + i * pointer_size);
        memcpy(image.start + at + i * pointer_size, &values[i], pointer_size);
    }
}

START_TEST(no_header)
{
    struct sp_cfi_tables tables = {0};
    ck_assert_int_eq(sp_cfi_find_row(&tables, 1, &row), SP_CFI_NONE);
}
END_TEST

START_TEST(no_table)
{
    image_header(&image);
    image_eh_frame_here(&image);
    add_functions(FUNCTIONS);
    assert_all_found(FUNCTIONS);
}
END_TEST

/* The scan ends at the segment's end where there is no terminator. */
START_TEST(no_terminator)
{
    image_header(&image);
    image_eh_frame_here(&image);
    add_functions(FUNCTIONS);
    image.size -= 4;
    assert_all_found(FUNCTIONS);
}
END_TEST

/* What is after the terminator does not belong to the section. */
START_TEST(after_the_terminator)
{
    image_header(&image);
    image_eh_frame_here(&image);
    add_functions(FUNCTIONS);
    image_fde(&image, cie, function(FUNCTIONS), 48, NULL, 0);
    ck_assert_int_eq(look_up(function(FUNCTIONS)), SP_CFI_NONE);
}
END_TEST

static void check_table(uint8_t count_encoding, uint8_t encoding, unsigned pointer_size)
{
    for (size_t count = 0; count <= FUNCTIONS; count += count < 5 ? 1 : 16) {
        image.size = 0;
        size_t table = table_begin(count_encoding, encoding, count, pointer_size);
        image_eh_frame_here(&image);
        add_functions(count);
        for (size_t i = 0; i < count; i++)
            table_set(table, i, encoding, pointer_size, function(i), fdes[i]);
        assert_all_found(count);
        /* That the table was searched, not .eh_frame: the pointer to that is wrong now. */
        image_patch_u32(&image, image.hdr + 4, 0);
        assert_all_found(count);
    }
}

START_TEST(table_usual)
{
    check_table(0x03, 0x3b, 4);
}
END_TEST

START_TEST(table_other_encodings)
{
    check_table(0x03, 0x33, 4); /* datarel, udata4 */
    check_table(0x03, 0x3c, 8); /* datarel, sdata8 */
    check_table(0x04, 0x34, 8); /* datarel, udata8; the count in 8 bytes */
    check_table(0x02, 0x1b, 4); /* pcrel, sdata4; the count in 2 bytes */
    check_table(0x0b, 0x04, 8); /* absolute */
    check_table(0x03, 0x00, 8); /* absolute */
}
END_TEST

/* A table that can't be searched or does not fit leaves the scan. */
START_TEST(table_unusable)
{
    size_t table = table_begin(0x03, 0x3b, FUNCTIONS, 4);
    image_eh_frame_here(&image);
    add_functions(FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        table_set(table, i, 0x3b, 4, function(i), fdes[i]);
    struct sp_cfi_tables tables = image_tables(&image);

    image.start[image.hdr + 3] = 0x39; /* sleb128: entries of no fixed size */
    assert_all_found(FUNCTIONS);
    image.start[image.hdr + 3] = 0xbb; /* indirect */
    assert_all_found(FUNCTIONS);
    image.start[image.hdr + 3] = 0x3b;

    image_patch_u32(&image, image.hdr + 8, 0xffffffff); /* a count that does not fit */
    assert_all_found(FUNCTIONS);
    image_patch_u32(&image, image.hdr + 8, FUNCTIONS);

    memset(image.start + table, 0, 8); /* a table overwritten is not one that can be told; the count is */
    image.start[image.hdr + 2] = 0xff;
    image.start[image.hdr + 3] = 0xff; /* as some tools overwrite it */
    assert_all_found(FUNCTIONS);

    tables.hdr_end = tables.hdr + 8; /* cut after the pointer */
    image.start[image.hdr + 2] = 0x03;
    image.start[image.hdr + 3] = 0x3b;
    ck_assert_int_eq(sp_cfi_find_row(&tables, function(3), &row), SP_CFI_OK);
    tables.hdr_end = tables.hdr + 12; /* cut after the count */
    ck_assert_int_eq(sp_cfi_find_row(&tables, function(3), &row), SP_CFI_OK);
    tables.hdr_end = tables.hdr + 7; /* cut in the pointer */
    ck_assert_int_eq(sp_cfi_find_row(&tables, function(3), &row), SP_CFI_BAD);
}
END_TEST

START_TEST(header_refused)
{
    image_header(&image);
    image_eh_frame_here(&image);
    add_functions(3);
    image.start[image.hdr] = 2; /* version */
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
    image.start[image.hdr] = 1;

    struct sp_cfi_tables tables = image_tables(&image);
    tables.segment_lo += 1; /* the header is before it */
    ck_assert_int_eq(sp_cfi_find_row(&tables, code, &row), SP_CFI_BAD);
    tables = image_tables(&image);
    tables.hdr_end += 1; /* or passes its end */
    ck_assert_int_eq(sp_cfi_find_row(&tables, code, &row), SP_CFI_BAD);
    tables = image_tables(&image);
    tables.hdr_end = tables.hdr - 1;
    ck_assert_int_eq(sp_cfi_find_row(&tables, code, &row), SP_CFI_BAD);

    const uint32_t outside[] = {0x80000000, 0x7fffffff, 0xffff0000};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        image_patch_u32(&image, image.hdr + 4, outside[i]);
        ck_assert_int_eq(look_up(code), SP_CFI_BAD);
    }
    image.start[image.hdr + 1] = 0xff; /* no pointer */
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
}
END_TEST

/* A function's table entry may be followed or preceded by an empty one with the same start. */
START_TEST(same_start)
{
    for (unsigned empty_first = 0; empty_first < 2; empty_first++) {
        image.size = 0;
        size_t table = table_begin(0x03, 0x3b, 3, 4);
        image_eh_frame_here(&image);
        cie = image_cie(&image, &(struct image_cie){0});
        size_t before = image_fde(&image, cie, code - 64, 64, NULL, 0);
        size_t empty = image_fde(&image, cie, code, 0, NULL, 0);
        size_t full = image_fde(&image, cie, code, 32, NULL, 0);
        table_set(table, 0, 0x3b, 4, code - 64, before);
        table_set(table, 1, 0x3b, 4, code, empty_first ? empty : full);
        table_set(table, 2, 0x3b, 4, code, empty_first ? full : empty);
        ck_assert_int_eq(look_up(code + 31), SP_CFI_OK);
        ck_assert_uint_eq(row.function_hi, code + 32);
        ck_assert_int_eq(look_up(code + 32), SP_CFI_NONE);
        ck_assert_int_eq(look_up(code - 1), SP_CFI_OK);
        ck_assert_uint_eq(row.function_lo, code - 64);
    }
}
END_TEST

/* Entries that point nowhere, at a CIE, or at the terminator. */
START_TEST(table_entries_refused)
{
    size_t table = table_begin(0x03, 0x3b, 1, 4);
    image_eh_frame_here(&image);
    add_functions(1);
    table_set(table, 0, 0x3b, 4, code, fdes[0]);
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    table_set(table, 0, 0x3b, 4, code, image.size + 1);
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
    table_set(table, 0, 0x3b, 4, code, image.size - 1);
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
    table_set(table, 0, 0x3b, 4, code, image.size - 4);
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
    table_set(table, 0, 0x3b, 4, code, (size_t)-100);
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
    table_set(table, 0, 0x3b, 4, code, cie);
    ck_assert_int_eq(look_up(code), SP_CFI_NONE);
}
END_TEST

/* In a segment without a header, by what its entries look like, and by their describing code of the text. */
START_TEST(found_by_its_looks)
{
    image.size = 0;
    image_bytes(&image, IMAGE_BYTES(20, 0, 0, 0, 0, 0, 0, 0)); /* looks like the start of one, and is none */
    image_bytes(&image, IMAGE_BYTES(1, 'z', 'R', 0, 1, 0x78, 16, 1));
    while (image.size % 8 != 0)
        image_u8(&image, 0xee);
    const uintptr_t text_lo = image_address(&image, 0) + 0x100000, text_hi = text_lo + 0x1000;
    size_t elsewhere = image_cie(&image, &(struct image_cie){0});
    image_fde(&image, elsewhere, text_hi, 16, NULL, 0);
    image_terminator(&image);
    while (image.size % 8 != 0)
        image_u8(&image, 0);
    size_t cie = image_cie(&image, &(struct image_cie){0});
    image_fde(&image, cie, text_lo, 16, NULL, 0);
    image_fde(&image, cie, text_lo + 16, 0xff0, NULL, 0);
    const uintptr_t lo = image_address(&image, 0), cut = image_address(&image, image.size);
    image_terminator(&image);
    const uintptr_t hi = image_address(&image, image.size);
    ck_assert_uint_eq(sp_cfi_find_eh_frame(lo, hi, text_lo, text_hi), image_address(&image, cie));
    ck_assert_uint_eq(sp_cfi_find_eh_frame(lo, cut, text_lo, text_hi), image_address(&image, cie));
    ck_assert_uint_eq(sp_cfi_find_eh_frame(lo, cut - 8, text_lo, text_hi), 0);
    ck_assert_uint_eq(sp_cfi_find_eh_frame(lo, hi, text_hi, text_hi + 16), image_address(&image, elsewhere));
    ck_assert_uint_eq(sp_cfi_find_eh_frame(lo, hi, text_lo, text_lo + 15), 0);
    ck_assert_uint_eq(sp_cfi_find_eh_frame(lo, hi, text_hi + 16, text_hi + 32), 0);
    ck_assert_uint_eq(sp_cfi_find_eh_frame(lo, lo, text_lo, text_hi), 0);
}
END_TEST

Suite *header_suite(void)
{
    Suite *suite = suite_create("cfi header");
    TCase *tests = tcase_create("header");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, no_header);
    tcase_add_test(tests, no_table);
    tcase_add_test(tests, no_terminator);
    tcase_add_test(tests, after_the_terminator);
    tcase_add_test(tests, table_usual);
    tcase_add_test(tests, table_other_encodings);
    tcase_add_test(tests, table_unusable);
    tcase_add_test(tests, header_refused);
    tcase_add_test(tests, found_by_its_looks);
    tcase_add_test(tests, same_start);
    tcase_add_test(tests, table_entries_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
