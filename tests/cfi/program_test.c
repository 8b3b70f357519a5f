/* SPDX-License-Identifier: MIT */
/* Every call frame instruction, in its place and out of it. */
#include "image.h"
#include "suites.h"

#include <string.h>

static struct image image;
static struct sp_cfi_row row;
static uintptr_t code;

static void setup(void)
{
    image_make(&image);
    image_header(&image);
    image_eh_frame_here(&image);
    code = image_address(&image, 0) + 0x1000000;
}

static enum sp_cfi_status look_up(uintptr_t offset)
{
    struct sp_cfi_tables tables = image_tables(&image);
    memset(&row, 0xa5, sizeof row);
    return sp_cfi_find_row(&tables, code + offset, &row);
}

/* Makes a function of 0x100000 bytes, with a CIE for it alone, and looks up at an offset. */
static enum sp_cfi_status run_with(const struct image_cie *cie, uintptr_t offset, const uint8_t *instructions,
                                   size_t size)
{
    image.size = 0;
    image_header(&image);
    image_eh_frame_here(&image);
    size_t position = image_cie(&image, cie);
    image_fde(&image, position, code, 0x100000, instructions, size);
    image_terminator(&image);
    return look_up(offset);
}

static enum sp_cfi_status run(uintptr_t offset, const uint8_t *instructions, size_t size)
{
    return run_with(&(struct image_cie){0}, offset, instructions, size);
}

static void assert_range(uintptr_t lo, uintptr_t hi)
{
    ck_assert_uint_eq(row.lo, code + lo);
    ck_assert_uint_eq(row.hi, code + hi);
}

static void assert_cfa(unsigned number, int32_t offset)
{
    ck_assert_int_eq(row.cfa.kind, SP_CFA_REGISTER);
    ck_assert_int_eq(row.cfa.register_number, number);
    ck_assert_int_eq(row.cfa.offset, offset);
}

static void assert_rule(unsigned number, enum sp_cfi_rule_kind kind, int32_t value)
{
    ck_assert_msg(row.rules[number].kind == kind, "register %u: kind %u", number, row.rules[number].kind);
    if (kind != SP_CFI_SAME && kind != SP_CFI_UNDEFINED)
        ck_assert_int_eq(row.rules[number].offset, value);
}

START_TEST(nop)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0, 0, 0)), SP_CFI_OK);
    assert_range(0, 0x100000);
    assert_cfa(SP_CFI_RSP, 8);
}
END_TEST

/* Each way to advance: the row ends where the next begins, and a look-up stops at its row. */
START_TEST(advance)
{
    const uint8_t instructions[] = {
        0x40 + 1,  0x0e, 16,                         /* advance_loc */
        0x40 + 63, 0x0e, 24,                         /* its most: 64 */
        0x02,      0xff, 0x0e, 32,                   /* advance_loc1: 319 */
        0x03,      0x00, 0x80, 0x0e, 40,             /* advance_loc2: 0x813f */
        0x04,      0x00, 0x00, 0x01, 0x00, 0x0e, 48, /* advance_loc4: 0x1813f */
    };
    const uintptr_t starts[] = {0, 1, 64, 319, 0x813f, 0x1813f, 0x100000};
    for (size_t i = 0; i < 6; i++) {
        const uintptr_t offsets[] = {starts[i], starts[i + 1] - 1, (starts[i] + starts[i + 1]) / 2};
        for (size_t k = 0; k < 3; k++) {
            ck_assert_int_eq(run(offsets[k], instructions, sizeof instructions), SP_CFI_OK);
            assert_range(starts[i], starts[i + 1]);
            assert_cfa(SP_CFI_RSP, 8 * (int32_t)i + 8);
        }
    }
    ck_assert_int_eq(run(0x100000, instructions, sizeof instructions), SP_CFI_NONE);
}
END_TEST

START_TEST(advance_by_factor)
{
    const struct image_cie cie = {.code_alignment = 4};
    ck_assert_int_eq(run_with(&cie, 11, IMAGE_BYTES(0x40 + 3, 0x0e, 16)), SP_CFI_OK);
    assert_range(0, 12);
    ck_assert_int_eq(run_with(&cie, 12, IMAGE_BYTES(0x40 + 3, 0x0e, 16)), SP_CFI_OK);
    assert_range(12, 0x100000);
    /* A product past the end of memory. */
    const struct image_cie huge = {.code_alignment = UINT64_C(1) << 62};
    ck_assert_int_eq(run_with(&huge, 0, IMAGE_BYTES(0x40 + 4)), SP_CFI_BAD);
    ck_assert_int_eq(run_with(&huge, 0, IMAGE_BYTES(0x40 + 3)), SP_CFI_OK);
    ck_assert_int_eq(run_with(&huge, 0, IMAGE_BYTES(0x40 + 3, 0x40 + 1)), SP_CFI_OK); /* not reached */
}
END_TEST

START_TEST(advance_by_nothing)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x40, 0x0e, 16, 0x02, 0, 0x0e, 24, 0x40 + 5, 0x0e, 32)), SP_CFI_OK);
    assert_range(0, 5);
    assert_cfa(SP_CFI_RSP, 24);
}
END_TEST

START_TEST(advance_past_the_function)
{
    ck_assert_int_eq(run(0xfffff, IMAGE_BYTES(0x04, 0, 0, 0x20, 0, 0x0e, 16)), SP_CFI_OK);
    assert_range(0, 0x100000);
    assert_cfa(SP_CFI_RSP, 8);
}
END_TEST

START_TEST(set_loc)
{
    size_t cie = image_cie(&image, &(struct image_cie){0});
    size_t fde = image_entry_begin(&image, 0);
    image_u32(&image, (uint32_t)(image.size - cie));
    image_u32(&image, (uint32_t)(code - image_address(&image, image.size)));
    image_u32(&image, 0x1000);
    image_uleb(&image, 0);
    image_u8(&image, 0x01);
    size_t operand = image.size;
    image_u32(&image, (uint32_t)(code + 0x20 - image_address(&image, operand)));
    image_bytes(&image, IMAGE_BYTES(0x0e, 16));
    image_entry_end(&image, fde);
    image_terminator(&image);
    ck_assert_int_eq(look_up(0x1f), SP_CFI_OK);
    assert_range(0, 0x20);
    assert_cfa(SP_CFI_RSP, 8);
    ck_assert_int_eq(look_up(0x20), SP_CFI_OK);
    assert_range(0x20, 0x1000);
    assert_cfa(SP_CFI_RSP, 16);

    image_patch_u32(&image, operand, (uint32_t)(code - 1 - image_address(&image, operand))); /* backwards */
    ck_assert_int_eq(look_up(0x20), SP_CFI_BAD);
}
END_TEST

/* In an FDE, funcrel has a base: the function. */
START_TEST(set_loc_by_funcrel)
{
    const uint8_t funcrel = 0x4b;
    size_t cie = image_cie(&image, &(struct image_cie){.augmentation = "zR", .data = &funcrel, .data_size = 1});
    size_t fde = image_entry_begin(&image, 0);
    image_u32(&image, (uint32_t)(image.size - cie));
    image_u32(&image, 0x1000);
    image_u32(&image, 0x1000);
    image_uleb(&image, 0);
    image_entry_end(&image, fde);
    ck_assert_int_eq(look_up(0), SP_CFI_BAD); /* what the FDE itself is relative to can't be told */
}
END_TEST

START_TEST(offsets)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x80 + 3, 2, 0x80 + 6, 0x80, 0x01)), SP_CFI_OK);
    assert_rule(3, SP_CFI_OFFSET, -16);
    assert_rule(6, SP_CFI_OFFSET, -1024);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x05, 12, 3)), SP_CFI_OK); /* offset_extended */
    assert_rule(12, SP_CFI_OFFSET, -24);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x11, 13, 0x7d)), SP_CFI_OK); /* offset_extended_sf */
    assert_rule(13, SP_CFI_OFFSET, 24);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x2f, 14, 3)), SP_CFI_OK); /* GNU_negative_offset_extended */
    assert_rule(14, SP_CFI_OFFSET, 24);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x14, 15, 3)), SP_CFI_OK); /* val_offset */
    assert_rule(15, SP_CFI_VAL_OFFSET, -24);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x15, 0, 0x7d)), SP_CFI_OK); /* val_offset_sf */
    assert_rule(0, SP_CFI_VAL_OFFSET, 24);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x15, 7, 0x7f)), SP_CFI_OK); /* rsp's own default is changed */
    assert_rule(7, SP_CFI_VAL_OFFSET, 8);
}
END_TEST

START_TEST(offsets_too_large)
{
    /* 2^28 * -8 = -2^31 fits in an int32_t, and (2^28 + 1) * -8 does not. */
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x80 + 3, 0x80, 0x80, 0x80, 0x80, 0x01)), SP_CFI_OK);
    assert_rule(3, SP_CFI_OFFSET, INT32_MIN);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x80 + 3, 0x81, 0x80, 0x80, 0x80, 0x01)), SP_CFI_BAD);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0e, 0xff, 0xff, 0xff, 0xff, 0x07)), SP_CFI_OK);
    assert_cfa(SP_CFI_RSP, INT32_MAX);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0e, 0x80, 0x80, 0x80, 0x80, 0x08)), SP_CFI_BAD);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0c, 7, 0x80, 0x80, 0x80, 0x80, 0x08)), SP_CFI_BAD);
    /* 2^64 - 1 is no -1. */
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x05, 12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)),
                     SP_CFI_BAD);
    /* 2^63 as an offset. */
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01)), SP_CFI_BAD);
}
END_TEST

START_TEST(undefined_and_same)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x07, 16, 0x80 + 3, 2, 0x08, 3, 0x08, 7)), SP_CFI_OK);
    assert_rule(16, SP_CFI_UNDEFINED, 0);
    assert_rule(3, SP_CFI_SAME, 0);
    assert_rule(7, SP_CFI_SAME, 0);
}
END_TEST

START_TEST(in_a_register)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x09, 16, 11)), SP_CFI_OK);
    assert_rule(16, SP_CFI_REGISTER, 11);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x09, 3, 17)), SP_CFI_BAD); /* in xmm0, which nobody follows */
}
END_TEST

/* Vector and other registers have rules that are passed over. */
START_TEST(other_registers)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x80 + 17, 4, 0x05, 33, 9, 0x07, 0x80, 0x02, 0x08, 18, 0x09, 40, 41, 0xc0 + 20,
                                        0x06, 50, 0x10, 17, 1, 0x96, 0x16, 18, 1, 0x96, 0x0e, 24)),
                     SP_CFI_OK);
    assert_cfa(SP_CFI_RSP, 24);
    for (unsigned i = 0; i < SP_CFI_RA; i++)
        assert_rule(i, i == SP_CFI_RSP ? SP_CFI_VAL_OFFSET : SP_CFI_SAME, 0);
    ck_assert_uint_eq(row.args_size, 0);
    ck_assert_uint_eq(row.return_register, SP_CFI_RA);
}
END_TEST

START_TEST(restore)
{
    const struct image_cie cie = {.instructions = (const uint8_t[]){0x0c, 7, 8, 0x80 + 16, 1, 0x80 + 3, 4},
                                  .instructions_size = 7};
    ck_assert_int_eq(run_with(&cie, 0, IMAGE_BYTES(0x08, 3, 0x80 + 6, 2, 0x09, 7, 5, 0x07, 16)), SP_CFI_OK);
    assert_rule(3, SP_CFI_SAME, 0);
    assert_rule(7, SP_CFI_REGISTER, 5);
    ck_assert_int_eq(run_with(&cie, 0,
                              IMAGE_BYTES(0x08, 3, 0x80 + 6, 2, 0x09, 7, 5, 0x07, 16, 0xc0 + 3, 0xc0 + 6, 0x06, 7, 0x06,
                                          0x90, 0x00)),
                     SP_CFI_OK);
    assert_rule(3, SP_CFI_OFFSET, -32);
    assert_rule(6, SP_CFI_SAME, 0);
    assert_rule(7, SP_CFI_VAL_OFFSET, 0);
    assert_rule(16, SP_CFI_OFFSET, -8);
}
END_TEST

START_TEST(remember)
{
    const uint8_t instructions[] = {
        0x0e, 16,   0x80 + 6, 2,  0x2e,     5,    0x0a,       /* a state */
        0x41, 0x0c, 6,        16, 0xc0 + 6,                   /* an epilogue */
        0x41, 0x0b,                                           /* back */
        0x41, 0x0a, 0x0e,     24, 0x0a,     0x0e, 32,   0x0b, /* nested */
        0x41, 0x0b,
    };
    ck_assert_int_eq(run(1, instructions, sizeof instructions), SP_CFI_OK);
    assert_cfa(SP_CFI_RBP, 16);
    assert_rule(6, SP_CFI_SAME, 0);
    ck_assert_int_eq(run(2, instructions, sizeof instructions), SP_CFI_OK);
    assert_cfa(SP_CFI_RSP, 16);
    assert_rule(6, SP_CFI_OFFSET, -16);
    ck_assert_uint_eq(row.args_size, 5);
    ck_assert_int_eq(run(3, instructions, sizeof instructions), SP_CFI_OK);
    assert_cfa(SP_CFI_RSP, 24);
    ck_assert_int_eq(run(4, instructions, sizeof instructions), SP_CFI_OK);
    assert_cfa(SP_CFI_RSP, 16);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0b)), SP_CFI_BAD);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0a, 0x0b, 0x0b)), SP_CFI_BAD);
}
END_TEST

START_TEST(remember_depth)
{
    uint8_t instructions[32];
    memset(instructions, 0x0a, sizeof instructions);
    ck_assert_int_eq(run(0, instructions, 8), SP_CFI_OK);
    ck_assert_int_eq(run(0, instructions, 9), SP_CFI_BAD);
}
END_TEST

START_TEST(define_cfa)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0c, 6, 0x80, 0x01)), SP_CFI_OK); /* def_cfa */
    assert_cfa(6, 128);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x12, 3, 0x7e)), SP_CFI_OK); /* def_cfa_sf */
    assert_cfa(3, 16);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x12, 3, 2)), SP_CFI_OK);
    assert_cfa(3, -16);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0d, 10)), SP_CFI_OK); /* def_cfa_register */
    assert_cfa(10, 8);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0e, 0x90, 0x01)), SP_CFI_OK); /* def_cfa_offset */
    assert_cfa(7, 144);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x13, 0x7d)), SP_CFI_OK); /* def_cfa_offset_sf */
    assert_cfa(7, 24);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0c, 17, 8)), SP_CFI_BAD);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0d, 17)), SP_CFI_BAD);
}
END_TEST

START_TEST(define_cfa_needs_a_register_first)
{
    const struct image_cie empty = {.instructions = (const uint8_t[]){0}, .instructions_size = 1};
    ck_assert_int_eq(run_with(&empty, 0, IMAGE_BYTES(0)), SP_CFI_BAD);
    ck_assert_int_eq(run_with(&empty, 0, IMAGE_BYTES(0x0d, 7)), SP_CFI_BAD);
    ck_assert_int_eq(run_with(&empty, 0, IMAGE_BYTES(0x0e, 8)), SP_CFI_BAD);
    ck_assert_int_eq(run_with(&empty, 0, IMAGE_BYTES(0x13, 1)), SP_CFI_BAD);
    ck_assert_int_eq(run_with(&empty, 0, IMAGE_BYTES(0x0c, 7, 8)), SP_CFI_OK);
    ck_assert_int_eq(run_with(&empty, 0, IMAGE_BYTES(0x0f, 2, 0x77, 8, 0x0d, 7)), SP_CFI_BAD);
    ck_assert_int_eq(run_with(&empty, 0, IMAGE_BYTES(0x0f, 2, 0x77, 8, 0x0e, 8)), SP_CFI_BAD);
}
END_TEST

START_TEST(expressions)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0f, 2, 0x77, 8, 0x10, 3, 1, 0x96, 0x16, 12, 3, 0x31, 0x32, 0x22)), SP_CFI_OK);
    ck_assert_int_eq(row.cfa.kind, SP_CFA_EXPRESSION);
    ck_assert_mem_eq(image.start + row.cfa.expression, ((uint8_t[]){2, 0x77, 8}), 3);
    ck_assert_int_eq(row.rules[3].kind, SP_CFI_EXPRESSION);
    ck_assert_mem_eq(image.start + row.rules[3].expression, ((uint8_t[]){1, 0x96}), 2);
    ck_assert_int_eq(row.rules[12].kind, SP_CFI_VAL_EXPRESSION);
    ck_assert_mem_eq(image.start + row.rules[12].expression, ((uint8_t[]){3, 0x31, 0x32, 0x22}), 4);
    /* A block past the entry's end. */
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0f, 0x60, 0x77, 8)), SP_CFI_BAD);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x10, 3, 0x60, 0x77)), SP_CFI_BAD);
}
END_TEST

/* An expression more than 4 GiB into the segment can't be named. */
START_TEST(expression_far_away)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x0f, 2, 0x77, 8)), SP_CFI_OK);
    struct sp_cfi_tables tables = image_tables(&image);
    tables.segment_lo -= UINT64_C(1) << 32;
    ck_assert_int_eq(sp_cfi_find_row(&tables, code, &row), SP_CFI_BAD);
}
END_TEST

START_TEST(args_size)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x2e, 0x90, 0x01)), SP_CFI_OK);
    ck_assert_uint_eq(row.args_size, 144);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x2e, 0xff, 0xff, 0xff, 0xff, 0x0f)), SP_CFI_OK);
    ck_assert_uint_eq(row.args_size, UINT32_MAX);
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x2e, 0x80, 0x80, 0x80, 0x80, 0x10)), SP_CFI_BAD);
}
END_TEST

START_TEST(unknown)
{
    for (unsigned opcode = 0x17; opcode < 0x40; opcode++) {
        if (opcode == 0x2e || opcode == 0x2f)
            continue;
        const uint8_t instruction = (uint8_t)opcode;
        ck_assert_msg(run(0, &instruction, 1) == SP_CFI_BAD, "opcode %#x", opcode);
    }
}
END_TEST

/* A look-up stops before what follows its row, so that it is not hurt by it. */
START_TEST(unknown_after_the_row)
{
    ck_assert_int_eq(run(0, IMAGE_BYTES(0x41, 0x3f)), SP_CFI_OK);
    ck_assert_int_eq(run(1, IMAGE_BYTES(0x41, 0x3f)), SP_CFI_BAD);
}
END_TEST

/* Instructions that have no meaning in a CIE. */
START_TEST(in_a_cie)
{
    const uint8_t cases[][8] = {
        {0x41}, {0x02, 1}, {0x03, 1, 0}, {0x04, 1, 0, 0, 0}, {0x01, 0, 0, 0, 1}, {0xc0 + 3}, {0x06, 3}, {0x0b},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t instructions[16] = {0x0c, 7, 8};
        memcpy(instructions + 3, cases[i], 8);
        const struct image_cie cie = {.instructions = instructions, .instructions_size = 11};
        ck_assert_msg(run_with(&cie, 0, NULL, 0) == SP_CFI_BAD, "case %zu", i);
    }
}
END_TEST

/* Each instruction cut off at the entry's end. */
START_TEST(cut_off)
{
    const uint8_t cases[][6] = {
        {0x80 + 3, 0x80}, {0x02},       {0x03, 1}, {0x04, 1, 1, 1}, {0x05, 3},    {0x05},    {0x06},
        {0x07},           {0x08, 0x80}, {0x09, 3}, {0x0c, 7},       {0x0d},       {0x0e},    {0x0f},
        {0x0f, 4, 0x96},  {0x10, 3},    {0x11, 3}, {0x12, 7},       {0x13, 0x80}, {0x14, 3}, {0x15, 3},
        {0x16, 3},        {0x2e},       {0x2f, 3}, {0x01, 1, 1, 1},
    };
    const size_t sizes[] = {2, 1, 2, 4, 2, 1, 1, 1, 2, 2, 2, 1, 1, 1, 3, 2, 2, 2, 2, 2, 2, 2, 1, 2, 4};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        setup();
        size_t cie = image_cie(&image, &(struct image_cie){0});
        size_t fde = image_entry_begin(&image, 0);
        image_u32(&image, (uint32_t)(image.size - cie));
        image_u32(&image, (uint32_t)(code - image_address(&image, image.size)));
        image_u32(&image, 0x1000);
        image_uleb(&image, 0);
        image_bytes(&image, cases[i], sizes[i]);
        image_patch_u32(&image, fde, (uint32_t)(image.size - fde - 4)); /* no padding */
        image_terminator(&image);
        ck_assert_msg(look_up(0) == SP_CFI_BAD, "case %zu", i);
    }
}
END_TEST

Suite *program_suite(void)
{
    Suite *suite = suite_create("cfi program");
    TCase *tests = tcase_create("program");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, nop);
    tcase_add_test(tests, advance);
    tcase_add_test(tests, advance_by_factor);
    tcase_add_test(tests, advance_by_nothing);
    tcase_add_test(tests, advance_past_the_function);
    tcase_add_test(tests, set_loc);
    tcase_add_test(tests, set_loc_by_funcrel);
    tcase_add_test(tests, offsets);
    tcase_add_test(tests, offsets_too_large);
    tcase_add_test(tests, undefined_and_same);
    tcase_add_test(tests, in_a_register);
    tcase_add_test(tests, other_registers);
    tcase_add_test(tests, restore);
    tcase_add_test(tests, remember);
    tcase_add_test(tests, remember_depth);
    tcase_add_test(tests, define_cfa);
    tcase_add_test(tests, define_cfa_needs_a_register_first);
    tcase_add_test(tests, expressions);
    tcase_add_test(tests, expression_far_away);
    tcase_add_test(tests, args_size);
    tcase_add_test(tests, unknown);
    tcase_add_test(tests, unknown_after_the_row);
    tcase_add_test(tests, in_a_cie);
    tcase_add_test(tests, cut_off);
    suite_add_tcase(suite, tests);
    return suite;
}
