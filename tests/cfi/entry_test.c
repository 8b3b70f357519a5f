/* SPDX-License-Identifier: MIT */
/* CIEs and FDEs: versions, augmentations, lengths, and what must be refused. */
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

/* Looks up in a function of a CIE of its own. */
static enum sp_cfi_status look_up_with(const struct image_cie *cie)
{
    size_t position = image_cie(&image, cie);
    image_fde(&image, position, code, 16, NULL, 0);
    image_terminator(&image);
    return look_up(code);
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

START_TEST(plain)
{
    ck_assert_int_eq(look_up_with(&(struct image_cie){0}), SP_CFI_OK);
    assert_plain_row();
    ck_assert(!row.signal_frame);
    ck_assert_uint_eq(row.function_lo, code);
    ck_assert_uint_eq(row.function_hi, code + 16);
    ck_assert_uint_eq(row.lo, code);
    ck_assert_uint_eq(row.hi, code + 16);
    ck_assert_int_eq(look_up(code + 15), SP_CFI_OK);
    ck_assert_int_eq(look_up(code + 16), SP_CFI_NONE);
    ck_assert_int_eq(look_up(code - 1), SP_CFI_NONE);
    ck_assert_int_eq(look_up(0), SP_CFI_NONE);
    ck_assert_int_eq(look_up(UINTPTR_MAX), SP_CFI_NONE);
}
END_TEST

START_TEST(versions)
{
    const uint8_t good[] = {1, 3, 4};
    const uint8_t wrong[] = {2, 5, 255};
    for (size_t i = 0; i < sizeof good; i++) {
        setup();
        ck_assert_int_eq(look_up_with(&(struct image_cie){.version = good[i]}), SP_CFI_OK);
        assert_plain_row();
    }
    for (size_t i = 0; i < sizeof wrong; i++) {
        setup();
        ck_assert_int_eq(look_up_with(&(struct image_cie){.version = wrong[i]}), SP_CFI_BAD);
    }
}
END_TEST

START_TEST(version_4_sizes)
{
    size_t cie = image_cie(&image, &(struct image_cie){.version = 4});
    image_fde(&image, cie, code, 16, NULL, 0);
    image.start[cie + 4 + 4 + 1 + 3] = 4; /* addresses of four bytes */
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
    image.start[cie + 4 + 4 + 1 + 3] = 8;
    image.start[cie + 4 + 4 + 1 + 4] = 1; /* segment selectors */
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
}
END_TEST

START_TEST(length_of_64_bits)
{
    ck_assert_int_eq(look_up_with(&(struct image_cie){.length64 = 1}), SP_CFI_OK);
    assert_plain_row();
    setup();
    size_t cie = image_cie(&image, &(struct image_cie){0});
    size_t fde = image_entry_begin(&image, 1);
    image_u32(&image, (uint32_t)(image.size - cie));
    image_u32(&image, (uint32_t)(code - image_address(&image, image.size)));
    image_u32(&image, 16);
    image_uleb(&image, 0);
    image_entry_end(&image, fde);
    image_terminator(&image);
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    assert_plain_row();
    ck_assert_int_eq(look_up(code + 16), SP_CFI_NONE);

    image_patch_u32(&image, fde + 8, 1); /* 4 GiB longer */
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
}
END_TEST

/* The augmentations that GCC, Clang and glibc's assembly use, and the historic ones. */
START_TEST(augmentations)
{
    const struct {
        const char *letters;
        uint8_t data[16];
        size_t size;
        int signal_frame;
    } cases[] = {
        {"zR", {0x1b}, 1, 0},
        {"zRS", {0x1b}, 1, 1},
        {"zSR", {0x1b}, 1, 1},
        {"zPLR", {0x9b, 1, 2, 3, 4, 0x1b, 0x1b}, 7, 0},
        {"zPLRS", {0x03, 1, 2, 3, 4, 0x1b, 0x1b}, 7, 1},
        {"zPLR", {0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0x1b}, 11, 0},
        {"zPLR", {0x01, 0x85, 0x01, 0xff, 0x1b}, 5, 0},
        {"zRB", {0x1b}, 1, 0},
        {"zRx", {0x1b, 9, 9, 9}, 4, 0}, /* an unknown letter after those that matter, its data skipped */
        {"zR", {0x1b, 1, 2, 3}, 4, 0},  /* more data than letters */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup();
        struct image_cie cie = {.augmentation = cases[i].letters, .data = cases[i].data, .data_size = cases[i].size};
        ck_assert_msg(look_up_with(&cie) == SP_CFI_OK, "case %zu, %s", i, cases[i].letters);
        assert_plain_row();
        ck_assert_msg(row.signal_frame == cases[i].signal_frame, "case %zu", i);
    }
}
END_TEST

/* 'P' with DW_EH_PE_aligned: padding up to 8 bytes comes before the pointer. */
START_TEST(aligned_personality)
{
    size_t entry = image_entry_begin(&image, 0);
    image_u32(&image, 0);
    image_u8(&image, 1);
    image_bytes(&image, "zPR", 4);
    image_bytes(&image, IMAGE_BYTES(1, 0x78, 16));
    size_t size_at = image.size;
    image_u8(&image, 0);
    image_u8(&image, 0x50);
    while (image_address(&image, image.size) % 8 != 0)
        image_u8(&image, 0xee);
    image_u64(&image, 0x1234);
    image_u8(&image, 0x1b);
    image.start[size_at] = (uint8_t)(image.size - size_at - 1);
    image_bytes(&image, IMAGE_BYTES(0x0c, 7, 8, 0x80 + 16, 1));
    image_entry_end(&image, entry);
    image_fde(&image, entry, code, 16, NULL, 0);
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    assert_plain_row();
}
END_TEST

/* Without 'z' an FDE has no augmentation data, and without 'R' absolute pointers of 8 bytes. */
START_TEST(augmentations_without_size)
{
    const char *letters[] = {"", "eh", "S"};
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        setup();
        size_t cie = image_cie(&image, &(struct image_cie){.augmentation = letters[i]});
        size_t fde = image_entry_begin(&image, 0);
        image_u32(&image, (uint32_t)(image.size - cie));
        image_u64(&image, code);
        image_u64(&image, 16);
        image_bytes(&image, IMAGE_BYTES(0x40 + 4, 0x0e, 16));
        image_entry_end(&image, fde);
        ck_assert_int_eq(look_up(code + 3), SP_CFI_OK);
        assert_plain_row();
        ck_assert_int_eq(row.signal_frame, letters[i][0] == 'S');
        ck_assert_int_eq(look_up(code + 4), SP_CFI_OK);
        ck_assert_int_eq(row.cfa.offset, 16);
    }
}
END_TEST

START_TEST(augmentations_refused)
{
    const struct {
        const char *letters;
        uint8_t data[4];
        size_t size;
    } cases[] = {
        {"x", {0}, 0},                     /* unknown, and no size to skip its data by */
        {"zR", {0}, 0},                    /* data shorter than the letters need */
        {"zPR", {0x04, 0, 0x1b}, 3},       /* likewise */
        {"zPR", {0x05, 0, 0, 0x1b}, 4},    /* no such format */
        {"zRBSBSBSBSBSBSBSBS", {0x1b}, 1}, /* no end of it */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup();
        struct image_cie cie = {.augmentation = cases[i].letters, .data = cases[i].data, .data_size = cases[i].size};
        ck_assert_msg(look_up_with(&cie) == SP_CFI_BAD, "case %zu, %s", i, cases[i].letters);
    }
}
END_TEST

/* A size of augmentation data that passes the CIE's end. */
START_TEST(augmentation_size)
{
    size_t cie = image_cie(&image, &(struct image_cie){0});
    image_fde(&image, cie, code, 16, NULL, 0);
    uint8_t *size = image.start + cie + 4 + 4 + 1 + 3 + 3;
    ck_assert_uint_eq(*size, 1);
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    const uint8_t wrong[] = {0, 0x10, 0x7f};
    for (size_t i = 0; i < sizeof wrong; i++) {
        *size = wrong[i];
        ck_assert_msg(look_up(code) == SP_CFI_BAD, "size %u", wrong[i]);
    }
}
END_TEST

/* A size that ends among the data of the letters: what is left of them would be instructions, nops at that. */
START_TEST(augmentation_size_too_small)
{
    static const uint8_t data[] = {0x1b, 0, 0};
    size_t cie = image_cie(&image, &(struct image_cie){.augmentation = "zRLL", .data = data, .data_size = 3});
    image_fde(&image, cie, code, 16, NULL, 0);
    uint8_t *size = image.start + cie + 4 + 4 + 1 + 5 + 3;
    ck_assert_uint_eq(*size, 3);
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    for (*size = 1; *size < 3; ++*size)
        ck_assert_int_eq(look_up(code), SP_CFI_BAD);
}
END_TEST

/* Without a table, the entries are read one after another: each FDE by its own CIE. */
START_TEST(two_cies)
{
    static const uint8_t other[] = {0x0c, 7, 24, 0x80 + 16, 1};
    size_t cie = image_cie(&image, &(struct image_cie){0});
    image_fde(&image, cie, code, 16, NULL, 0);
    size_t other_cie = image_cie(&image, &(struct image_cie){.instructions = other, .instructions_size = sizeof other});
    image_fde(&image, other_cie, code + 16, 16, NULL, 0);
    image_fde(&image, cie, code + 32, 16, NULL, 0);
    image_terminator(&image);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(look_up(code + 16 * (uintptr_t)i), SP_CFI_OK);
        ck_assert_int_eq(row.cfa.offset, i == 1 ? 24 : 8);
    }
}
END_TEST

START_TEST(return_registers)
{
    ck_assert_int_eq(look_up_with(&(struct image_cie){.return_register = 3}), SP_CFI_OK);
    ck_assert_int_eq(row.return_register, 3);
    setup();
    ck_assert_int_eq(look_up_with(&(struct image_cie){.return_register = 17}), SP_CFI_BAD);
}
END_TEST

/* A stored 0 is a null pointer: the linker dropped the function. */
START_TEST(dropped_function)
{
    size_t cie = image_cie(&image, &(struct image_cie){0});
    size_t fde = image_fde(&image, cie, code, 16, NULL, 0);
    image_patch_u32(&image, fde + 8, 0);
    image_terminator(&image);
    ck_assert_int_eq(look_up(image_address(&image, fde + 8)), SP_CFI_NONE);
    ck_assert_int_eq(look_up(0), SP_CFI_NONE);
}
END_TEST

START_TEST(cie_pointer)
{
    size_t cie = image_cie(&image, &(struct image_cie){0});
    size_t fde = image_fde(&image, cie, code, 16, NULL, 0);
    const uint32_t wrong[] = {
        1,           (uint32_t)(fde + 4) + 1, /* before the segment */
        0x7fffffff,  0xffffffff,              /* far away */
        (uint32_t)4,                          /* the FDE itself */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        image_patch_u32(&image, fde + 4, wrong[i]);
        ck_assert_msg(look_up(code) == SP_CFI_BAD, "pointer %#x", wrong[i]);
    }
}
END_TEST

/* What an FDE takes for its CIE has to be one. */
START_TEST(cie_id)
{
    size_t cie = image_cie(&image, &(struct image_cie){0});
    image_fde(&image, cie, code, 16, NULL, 0);
    image_terminator(&image);
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    image_patch_u32(&image, cie + 4, 1);
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
}
END_TEST

START_TEST(cie_without_instructions)
{
    size_t cie = image_cie(&image, &(struct image_cie){0});
    image.start[cie + 4 + 4 + 1 + 3 + 3] = (uint8_t)(image.size - (cie + 4 + 4 + 1 + 3 + 3 + 1));
    image_fde(&image, cie, code, 16, IMAGE_BYTES(0x0c, 7, 8, 0x80 + 16, 1));
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    assert_plain_row();
}
END_TEST

START_TEST(ranges_refused)
{
    const uint8_t absptr = 0x00;
    size_t cie = image_cie(&image, &(struct image_cie){.augmentation = "zR", .data = &absptr, .data_size = 1});
    size_t fde = image_entry_begin(&image, 0);
    image_u32(&image, (uint32_t)(image.size - cie));
    image_u64(&image, code);
    image_u64(&image, UINT64_MAX); /* past the end of memory */
    image_uleb(&image, 0);
    image_entry_end(&image, fde);
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
}
END_TEST

START_TEST(augmentation_data_of_an_fde)
{
    const uint8_t encodings[] = {0x1b, 0x1b};
    size_t cie = image_cie(&image, &(struct image_cie){.augmentation = "zLR", .data = encodings, .data_size = 2});
    size_t fde = image_entry_begin(&image, 0);
    image_u32(&image, (uint32_t)(image.size - cie));
    image_u32(&image, (uint32_t)(code - image_address(&image, image.size)));
    image_u32(&image, 16);
    size_t size_at = image.size;
    image_uleb(&image, 4);
    image_u32(&image, 0x0e0e0e0e);
    image_bytes(&image, IMAGE_BYTES(0x0e, 32));
    image_entry_end(&image, fde);
    ck_assert_int_eq(look_up(code), SP_CFI_OK);
    ck_assert_int_eq(row.cfa.offset, 32);
    image.start[size_at] = 0x7f; /* past the entry's end */
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
}
END_TEST

/* An FDE that can't be read does not hide those after it, but makes a miss uncertain. */
START_TEST(one_bad_among_good)
{
    size_t cie = image_cie(&image, &(struct image_cie){0});
    size_t bad = image_fde(&image, cie, code, 16, NULL, 0);
    image_fde(&image, cie, code + 16, 16, NULL, 0);
    image_terminator(&image);
    image_patch_u32(&image, bad + 4, 1);
    ck_assert_int_eq(look_up(code + 16), SP_CFI_OK);
    ck_assert_int_eq(look_up(code), SP_CFI_BAD);
}
END_TEST

Suite *entry_suite(void)
{
    Suite *suite = suite_create("cfi entries");
    TCase *tests = tcase_create("entries");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, plain);
    tcase_add_test(tests, versions);
    tcase_add_test(tests, version_4_sizes);
    tcase_add_test(tests, length_of_64_bits);
    tcase_add_test(tests, augmentations);
    tcase_add_test(tests, aligned_personality);
    tcase_add_test(tests, augmentations_without_size);
    tcase_add_test(tests, augmentations_refused);
    tcase_add_test(tests, augmentation_size);
    tcase_add_test(tests, augmentation_size_too_small);
    tcase_add_test(tests, two_cies);
    tcase_add_test(tests, return_registers);
    tcase_add_test(tests, dropped_function);
    tcase_add_test(tests, cie_pointer);
    tcase_add_test(tests, cie_id);
    tcase_add_test(tests, cie_without_instructions);
    tcase_add_test(tests, ranges_refused);
    tcase_add_test(tests, augmentation_data_of_an_fde);
    tcase_add_test(tests, one_bad_among_good);
    suite_add_tcase(suite, tests);
    return suite;
}
