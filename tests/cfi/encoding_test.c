/* SPDX-License-Identifier: MIT */
/* Encoded pointers and LEB128 numbers, at their limits and past them. */
#define _GNU_SOURCE
#include "image.h"
#include "suites.h"

#include <string.h>

static struct image image;
static struct sp_cfi_row row;
static uintptr_t code; /* where the functions are said to be */

static void setup(void)
{
    image_make(&image);
    image_header(&image);
    image_eh_frame_here(&image);
    code = image_address(&image, 0) + 0x1000000;
}

static enum sp_cfi_status look_up(uintptr_t pc)
{
    struct sp_cfi_tables tables = image_tables(&image);
    memset(&row, 0xa5, sizeof row);
    return sp_cfi_find_row(&tables, pc, &row);
}

static void assert_plain_row(void)
{
    ck_assert_int_eq(row.cfa.kind, SP_CFA_REGISTER);
    ck_assert_int_eq(row.cfa.register_number, SP_CFI_RSP);
    ck_assert_int_eq(row.cfa.offset, 8);
    ck_assert_int_eq(row.rules[SP_CFI_RA].kind, SP_CFI_OFFSET);
    ck_assert_int_eq(row.rules[SP_CFI_RA].offset, -8);
    ck_assert_int_eq(row.rules[SP_CFI_RSP].kind, SP_CFI_VAL_OFFSET);
    ck_assert_int_eq(row.rules[SP_CFI_RSP].offset, 0);
    for (unsigned i = 0; i < SP_CFI_RA; i++)
        if (i != SP_CFI_RSP)
            ck_assert_int_eq(row.rules[i].kind, SP_CFI_SAME);
    ck_assert_int_eq(row.return_register, 16);
    ck_assert_uint_eq(row.args_size, 0);
}

/* Makes an FDE whose first address and size are given as bytes, and looks up its first address. */
static enum sp_cfi_status look_up_encoded(uint8_t encoding, const void *lo, size_t lo_size, const void *size,
                                          size_t size_size, uintptr_t pc)
{
    size_t cie = image_cie(&image, &(struct image_cie){.augmentation = "zR", .data = &encoding, .data_size = 1});
    size_t fde = image_entry_begin(&image, 0);
    image_u32(&image, (uint32_t)(image.size - cie));
    image_bytes(&image, lo, lo_size);
    image_bytes(&image, size, size_size);
    image_uleb(&image, 0);
    image_entry_end(&image, fde);
    image_terminator(&image);
    return look_up(pc);
}

/* Every format, absolute. */
START_TEST(formats)
{
    const struct {
        uint8_t format;
        uint8_t lo[10], lo_size;
        uint8_t size[8], size_size;
        uintptr_t expected;
    } cases[] = {
        {0x00, {0, 0, 0x34, 0x12, 0, 0, 0, 0}, 8, {16}, 8, 0x12340000},
        {0x08, {0, 0, 0x34, 0x12, 0, 0, 0, 0}, 8, {16}, 8, 0x12340000},
        {0x01, {0x80, 0x80, 0x10}, 3, {16}, 1, 0x40000},
        {0x02, {0x34, 0xf2}, 2, {16}, 2, 0xf234},
        {0x03, {0x34, 0x12, 0, 0xf0}, 4, {16}, 4, 0xf0001234},
        {0x04, {1, 2, 3, 4, 5, 6, 7, 8}, 8, {16}, 8, 0x0807060504030201},
        {0x09, {0x80, 0x7f}, 2, {16}, 1, (uintptr_t)-128},
        {0x0a, {0x34, 0xf2}, 2, {16}, 2, (uintptr_t)(int16_t)0xf234},
        {0x0b, {0x34, 0x12, 0, 0xf0}, 4, {16}, 4, (uintptr_t)(int32_t)0xf0001234},
        {0x0c, {0xff, 0xff, 0, 0, 0, 0, 0, 0xff}, 8, {16}, 8, 0xff0000000000ffff},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup();
        ck_assert_msg(look_up_encoded(cases[i].format, cases[i].lo, cases[i].lo_size, cases[i].size, cases[i].size_size,
                                      cases[i].expected) == SP_CFI_OK,
                      "format %#x", cases[i].format);
        assert_plain_row();
        ck_assert_uint_eq(row.function_lo, cases[i].expected);
        ck_assert_uint_eq(row.function_hi, cases[i].expected + 16);
    }
}
END_TEST

START_TEST(format_unknown)
{
    const uint8_t zeros[8] = {0};
    const uint8_t formats[] = {0x05, 0x06, 0x07, 0x0d, 0x0e, 0x0f, 0xff};
    for (size_t i = 0; i < sizeof formats; i++) {
        setup();
        ck_assert_msg(look_up_encoded(formats[i], zeros, 8, zeros, 8, code) == SP_CFI_BAD, "format %#x", formats[i]);
    }
}
END_TEST

START_TEST(datarel)
{
    struct sp_cfi_tables tables;
    look_up_encoded(0x3b, (int32_t[]){0x1000}, 4, (int32_t[]){16}, 4, code);
    tables = image_tables(&image);
    tables.got = code - 0x1000;
    ck_assert_int_eq(sp_cfi_find_row(&tables, code, &row), SP_CFI_OK);
    ck_assert_uint_eq(row.function_lo, code);
    tables.got = 0; /* unknown: no address can be told, and no answer be trusted */
    ck_assert_int_eq(sp_cfi_find_row(&tables, code, &row), SP_CFI_BAD);
}
END_TEST

START_TEST(bases_unknown)
{
    ck_assert_int_eq(look_up_encoded(0x2b, (int32_t[]){0x1000}, 4, (int32_t[]){16}, 4, code), SP_CFI_BAD);
    setup(); /* relative to the function that is to be told */
    ck_assert_int_eq(look_up_encoded(0x4b, (int32_t[]){0x1000}, 4, (int32_t[]){16}, 4, code), SP_CFI_BAD);
    setup(); /* no such application */
    ck_assert_int_eq(look_up_encoded(0x6b, (int32_t[]){0x1000}, 4, (int32_t[]){16}, 4, code), SP_CFI_BAD);
    setup(); /* aligned has no format */
    ck_assert_int_eq(look_up_encoded(0x5b, (int32_t[]){0x1000}, 4, (int32_t[]){16}, 4, code), SP_CFI_BAD);
}
END_TEST

START_TEST(aligned)
{
    uint8_t encoding = 0x50;
    size_t cie = image_cie(&image, &(struct image_cie){.augmentation = "zR", .data = &encoding, .data_size = 1});
    for (unsigned shift = 0; shift < 8; shift++) {
        size_t fde = image_entry_begin(&image, 0);
        image_u32(&image, (uint32_t)(image.size - cie));
        while (image_address(&image, image.size) % 8 != 0)
            image_u8(&image, 0xee);
        image_u64(&image, code + 16 * shift);
        image_u64(&image, 16);
        image_uleb(&image, 0);
        image_entry_end(&image, fde);
        for (unsigned i = 0; i <= shift; i++) /* moves the next by a byte more */
            image_u8(&image, 0);
        uint32_t length;
        memcpy(&length, image.start + fde, sizeof length);
        image_patch_u32(&image, fde, length + shift + 1);
    }
    image_terminator(&image);
    for (unsigned shift = 0; shift < 8; shift++) {
        ck_assert_int_eq(look_up(code + 16 * shift), SP_CFI_OK);
        ck_assert_uint_eq(row.function_lo, code + 16 * shift);
        assert_plain_row();
    }
}
END_TEST

START_TEST(indirect)
{
    size_t pointer = image.size;
    image_u64(&image, code);
    image_eh_frame_here(&image);
    uintptr_t at = image_address(&image, pointer);
    ck_assert_int_eq(look_up_encoded(0x80, &at, 8, (uint64_t[]){16}, 8, code), SP_CFI_OK);
    ck_assert_uint_eq(row.function_lo, code);

    /* Outside the segment, wholly or by a part: never followed. */
    const uintptr_t outside[] = {image_address(&image, 0) - 8, image_address(&image, 0) - 1, 8, UINTPTR_MAX - 3,
                                 image_address(&image, 0x100000)};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        setup();
        ck_assert_int_eq(look_up_encoded(0x80, &outside[i], 8, (uint64_t[]){16}, 8, code), SP_CFI_BAD);
    }
    /* The last 8 bytes of the segment may be read, those that are a byte further not. */
    for (unsigned past = 0; past < 2; past++) {
        setup();
        const uintptr_t placeholder = 1;
        look_up_encoded(0x80, &placeholder, 8, (uint64_t[]){16}, 8, code);
        uintptr_t *field = memmem(image.start, image.size, (uint64_t[]){1, 16}, 16);
        ck_assert_ptr_nonnull(field);
        *field = image_address(&image, image.size) + past;
        image_u64(&image, code);
        ck_assert_int_eq(look_up(code), past ? SP_CFI_BAD : SP_CFI_OK);
    }
}
END_TEST

/* The segment's first bytes belong to it, for a pointer and for .eh_frame. */
START_TEST(at_the_segments_start)
{
    image.size = 0;
    image_u64(&image, code);
    image_header(&image);
    image_eh_frame_here(&image);
    uintptr_t at = image_address(&image, 0);
    ck_assert_int_eq(look_up_encoded(0x80, &at, 8, (uint64_t[]){16}, 8, code), SP_CFI_OK);
    ck_assert_uint_eq(row.function_lo, code);

    setup();
    image.size = 0;
    size_t cie = image_cie(&image, &(struct image_cie){0});
    image_fde(&image, cie, code, 16, NULL, 0);
    image_terminator(&image);
    image_header(&image);
    image_patch_u32(&image, image.hdr + 4, (uint32_t) - (image.hdr + 4));
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    assert_plain_row();
}
END_TEST

/* Each LEB128 field at its limits: values of 64 bits, padding, and no end. */
START_TEST(leb128)
{
    const struct {
        uint8_t bytes[20];
        size_t size;
        int good;
    } cases[] = {
        {{0x10}, 1, 1},
        {{0x90, 0x00}, 2, 1},                                                        /* padded */
        {{0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 11, 1}, /* past 64 bits */
        {{0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}, 10, 0},       /* 2^64 */
        {{0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, 11, 0}, /* 2^70 */
        {{0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, 10, 0},       /* no offset so large */
        {{0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 16, 1},
        {{0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, 17, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup();
        size_t cie = image_cie(&image, &(struct image_cie){0});
        uint8_t instructions[32] = {0x0e};
        memcpy(instructions + 1, cases[i].bytes, cases[i].size);
        image_fde(&image, cie, code, 16, instructions, 1 + cases[i].size);
        ck_assert_msg(look_up(code) == (cases[i].good ? SP_CFI_OK : SP_CFI_BAD), "case %zu", i);
        if (cases[i].good)
            ck_assert_int_eq(row.cfa.offset, 16);
    }
}
END_TEST

START_TEST(signed_leb128)
{
    const struct {
        uint8_t bytes[20];
        size_t size;
        int good;
        int32_t offset; /* times -8 */
    } cases[] = {
        {{0x02}, 1, 1, -16},
        {{0x7e}, 1, 1, 16},
        {{0xfe, 0x7f}, 2, 1, 16},
        {{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 11, 1, 16},
        {{0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 11, 1, -16},
        {{0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, 10, 0, 0}, /* 2^63 */
        {{0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 11, 0, 0},
        {{0xbf, 0xff, 0xff, 0x7f}, 4, 1, 520},
        {{0x80, 0x80, 0x80, 0x80, 0x7f}, 5, 0, 0}, /* times -8 is 2^31 */
        {{0x80, 0x80, 0x80, 0x80, 0x01}, 5, 1, INT32_MIN},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 10, 0, 0}, /* INT64_MIN */
        {{0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 16, 1, -16},
        {{0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, 17, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup();
        size_t cie = image_cie(&image, &(struct image_cie){0});
        uint8_t instructions[32] = {0x13};
        memcpy(instructions + 1, cases[i].bytes, cases[i].size);
        image_fde(&image, cie, code, 16, instructions, 1 + cases[i].size);
        ck_assert_msg(look_up(code) == (cases[i].good ? SP_CFI_OK : SP_CFI_BAD), "case %zu", i);
        if (cases[i].good)
            ck_assert_int_eq(row.cfa.offset, cases[i].offset);
    }
}
END_TEST

Suite *encoding_suite(void)
{
    Suite *suite = suite_create("cfi encodings");
    TCase *tests = tcase_create("encodings");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, formats);
    tcase_add_test(tests, format_unknown);
    tcase_add_test(tests, datarel);
    tcase_add_test(tests, bases_unknown);
    tcase_add_test(tests, aligned);
    tcase_add_test(tests, indirect);
    tcase_add_test(tests, at_the_segments_start);
    tcase_add_test(tests, leb128);
    tcase_add_test(tests, signed_leb128);
    suite_add_tcase(suite, tests);
    return suite;
}
