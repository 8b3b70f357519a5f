/* SPDX-License-Identifier: MIT */
/* Every operation of the expressions that call frame information may use. */
#include "image.h"
#include "suites.h"

#include <string.h>

static struct image image;
static struct sp_cfi_registers registers;
static uint64_t value;
static unsigned needed;

/* Memory as the expressions see it: 64 bytes at 0x1000, byte i is 0x81 + i. */
static bool read_memory(void *context, uintptr_t address, uint64_t *word, unsigned size)
{
    ck_assert_ptr_eq(context, &image);
    ck_assert(size == 1 || size == 2 || size == 4 || size == 8);
    if (address < 0x1000 || address > 0x1040 - size)
        return false;
    *word = 0;
    for (unsigned i = 0; i < size; i++)
        *word |= (uint64_t)(0x81 + (address - 0x1000) + i) << 8 * i;
    return true;
}

static void setup(void)
{
    image_make(&image);
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
        registers.value[i] = 0x100 * i;
    registers.known = 0x1ffff;
}

/* The block is the last of the segment: what reads past it faults. */
static enum sp_cfi_result evaluate_from(const uint64_t *initial, const uint8_t *operations, size_t size)
{
    image.size = 0;
    image_bytes(&image, "ahead", 5);
    size_t position = image.size;
    image_uleb(&image, size);
    image_bytes(&image, operations, size);
    struct image moved = image;
    uintptr_t page = ((uintptr_t)image.start + (1 << 20)) - image.size;
    moved.start = memmove((void *)page, image.start, image.size);
    struct sp_cfi_tables tables = image_tables(&moved);
    value = 0xdead;
    needed = 99;
    return sp_cfi_evaluate(&tables, (uint32_t)position, &registers, initial, read_memory, &image, &value, &needed);
}

static enum sp_cfi_result evaluate(const uint8_t *operations, size_t size)
{
    return evaluate_from(NULL, operations, size);
}

#define ASSERT_VALUE(expected, ...)                                                                                    \
    do {                                                                                                               \
        ck_assert_int_eq(evaluate(IMAGE_BYTES(__VA_ARGS__)), SP_CFI_VALUE);                                            \
        ck_assert_uint_eq(value, (uint64_t)(expected));                                                                \
    } while (0)

#define ASSERT_RESULT(expected, ...) ck_assert_int_eq(evaluate(IMAGE_BYTES(__VA_ARGS__)), expected)

START_TEST(constants)
{
    for (unsigned i = 0; i < 32; i++)
        ASSERT_VALUE(i, (uint8_t)(0x30 + i));
    ASSERT_VALUE(0x0807060504030201, 0x03, 1, 2, 3, 4, 5, 6, 7, 8);
    ASSERT_VALUE(0xff, 0x08, 0xff);
    ASSERT_VALUE(-1, 0x09, 0xff);
    ASSERT_VALUE(0xfffe, 0x0a, 0xfe, 0xff);
    ASSERT_VALUE(-2, 0x0b, 0xfe, 0xff);
    ASSERT_VALUE(0xfffffffd, 0x0c, 0xfd, 0xff, 0xff, 0xff);
    ASSERT_VALUE(-3, 0x0d, 0xfd, 0xff, 0xff, 0xff);
    ASSERT_VALUE(0x8807060504030201, 0x0e, 1, 2, 3, 4, 5, 6, 7, 0x88);
    ASSERT_VALUE(0x8807060504030201, 0x0f, 1, 2, 3, 4, 5, 6, 7, 0x88);
    ASSERT_VALUE(0x3fff, 0x10, 0xff, 0x7f);
    ASSERT_VALUE(-128, 0x11, 0x80, 0x7f);
}
END_TEST

/* Whatever pushes a value pushes just one. */
START_TEST(one_value_each)
{
    const struct {
        uint8_t operation[10];
        size_t size;
    } cases[] = {{{0x03}, 9}, {{0x08}, 2}, {{0x09}, 2}, {{0x0a}, 3}, {{0x0b}, 3},   {{0x0c}, 5},
                 {{0x0d}, 5}, {{0x0e}, 9}, {{0x0f}, 9}, {{0x10}, 2}, {{0x11}, 2},   {{0x30}, 1},
                 {{0x4f}, 1}, {{0x70}, 2}, {{0x80}, 2}, {{0x92}, 3}, {{0xf1, 3}, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t operations[12];
        memcpy(operations, cases[i].operation, 10);
        ck_assert_msg(evaluate(operations, cases[i].size) == SP_CFI_VALUE, "opcode %#x", operations[0]);
        operations[cases[i].size] = 0x13; /* dropped, and nothing is left */
        ck_assert_msg(evaluate(operations, cases[i].size + 1) == SP_CFI_INVALID, "opcode %#x", operations[0]);
    }
}
END_TEST

START_TEST(encoded_address)
{
    ASSERT_VALUE(0x12345678, 0xf1, 0x03, 0x78, 0x56, 0x34, 0x12);
    /* pcrel: from the operand. The block begins 6 bytes into the segment, the operand 2 further. */
    ck_assert_int_eq(evaluate(IMAGE_BYTES(0xf1, 0x1b, 0x10, 0, 0, 0)), SP_CFI_VALUE);
    ck_assert_uint_eq(value, (uintptr_t)image.start + (1 << 20) - 4 + 0x10);
    ASSERT_RESULT(SP_CFI_INVALID, 0xf1, 0x05, 0, 0, 0, 0);
    ASSERT_RESULT(SP_CFI_INVALID, 0xf1, 0x3b, 1, 0, 0, 0);
}
END_TEST

START_TEST(from_registers)
{
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++) {
        ASSERT_VALUE(registers.value[i] + 8, (uint8_t)(0x70 + i), 8);
        ASSERT_VALUE(registers.value[i] - 8, 0x92, (uint8_t)i, 0x78);
    }
    ASSERT_RESULT(SP_CFI_INVALID, 0x70 + 17, 0);
    ASSERT_RESULT(SP_CFI_INVALID, 0x8f, 0);
    ASSERT_RESULT(SP_CFI_INVALID, 0x92, 17, 0);
    ASSERT_RESULT(SP_CFI_INVALID, 0x92, 0xff, 0xff, 0xff, 0xff, 0x7f, 0);
}
END_TEST

START_TEST(unknown_registers)
{
    registers.known = 1u << 7 | 1u << 16;
    ASSERT_VALUE(0x708, 0x77, 8);
    ASSERT_VALUE(0x1000, 0x80, 0);
    for (unsigned i = 0; i < 16; i++) {
        if (i == 7)
            continue;
        ASSERT_RESULT(SP_CFI_NEEDS_REGISTER, (uint8_t)(0x70 + i), 0);
        ck_assert_uint_eq(needed, i);
        ck_assert_uint_eq(value, 0xdead);
    }
    ASSERT_RESULT(SP_CFI_NEEDS_REGISTER, 0x92, 9, 0, 0x73, 0); /* the first of two */
    ck_assert_uint_eq(needed, 9);
}
END_TEST

START_TEST(stack_operations)
{
    ASSERT_VALUE(10, 0x35, 0x12, 0x22);         /* dup */
    ASSERT_VALUE(5, 0x35, 0x36, 0x13);          /* drop */
    ASSERT_VALUE(5, 0x35, 0x36, 0x14);          /* over */
    ASSERT_VALUE(3, 0x33, 0x34, 0x35, 0x15, 2); /* pick */
    ASSERT_VALUE(5, 0x33, 0x34, 0x35, 0x15, 0);
    ASSERT_VALUE(1, 0x33, 0x34, 0x16, 0x1c); /* swap: 4 3, 4 - 3 */
    ASSERT_VALUE(4, 0x33, 0x34, 0x35, 0x17); /* rot: 3 4 5 becomes 5 3 4 */
    ASSERT_VALUE(3, 0x33, 0x34, 0x35, 0x17, 0x13);
    ASSERT_VALUE(5, 0x33, 0x34, 0x35, 0x17, 0x13, 0x13);
    ASSERT_VALUE(7, 0x37, 0x96); /* nop */
}
END_TEST

START_TEST(stack_underflow)
{
    const uint8_t needs_one[] = {0x06, 0x12, 0x13, 0x19, 0x1f, 0x20};
    for (size_t i = 0; i < sizeof needs_one; i++)
        ASSERT_RESULT(SP_CFI_INVALID, needs_one[i]);
    ASSERT_RESULT(SP_CFI_INVALID, 0x94, 8);
    ASSERT_RESULT(SP_CFI_INVALID, 0x23, 8);
    ASSERT_RESULT(SP_CFI_INVALID, 0x28, 0, 0);
    for (unsigned opcode = 0x1a; opcode <= 0x2e; opcode++)
        if (opcode != 0x1f && opcode != 0x20 && opcode != 0x23 && opcode != 0x28)
            ck_assert_msg(evaluate(IMAGE_BYTES(0x31, (uint8_t)opcode)) == SP_CFI_INVALID, "%#x", opcode);
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x14);
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x16);
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x32, 0x17);
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x15, 1);
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x13); /* nothing left */
    ck_assert_int_eq(evaluate(NULL, 0), SP_CFI_INVALID);
}
END_TEST

START_TEST(stack_overflow)
{
    uint8_t operations[33];
    memset(operations, 0x31, sizeof operations);
    ck_assert_int_eq(evaluate(operations, 32), SP_CFI_VALUE);
    ck_assert_int_eq(evaluate(operations, 33), SP_CFI_INVALID);
}
END_TEST

START_TEST(arithmetic)
{
    ASSERT_VALUE(5, 0x09, 0xfb, 0x19); /* abs */
    ASSERT_VALUE(5, 0x35, 0x19);
    ASSERT_VALUE(1, 0x35, 0x33, 0x1a);        /* and */
    ASSERT_VALUE(-3, 0x09, 0xf9, 0x32, 0x1b); /* div: -7 / 2, towards 0 */
    ASSERT_VALUE(3, 0x37, 0x32, 0x1b);
    ASSERT_VALUE(2, 0x35, 0x33, 0x1c); /* minus */
    ASSERT_VALUE(-2, 0x33, 0x35, 0x1c);
    ASSERT_VALUE(2, 0x38, 0x33, 0x1d);                        /* mod */
    ASSERT_VALUE(UINT64_MAX % 10, 0x09, 0xff, 0x3a, 0x1d);    /* is unsigned */
    ASSERT_VALUE(15, 0x35, 0x33, 0x1e);                       /* mul */
    ASSERT_VALUE(-5, 0x35, 0x1f);                             /* neg */
    ASSERT_VALUE(~UINT64_C(5), 0x35, 0x20);                   /* not */
    ASSERT_VALUE(7, 0x35, 0x33, 0x21);                        /* or */
    ASSERT_VALUE(8, 0x35, 0x33, 0x22);                        /* plus */
    ASSERT_VALUE(0x3fff + 5, 0x35, 0x23, 0xff, 0x7f);         /* plus_uconst */
    ASSERT_VALUE(40, 0x35, 0x33, 0x24);                       /* shl */
    ASSERT_VALUE(0x1fffffffffffffff, 0x09, 0xff, 0x33, 0x25); /* shr */
    ASSERT_VALUE(-1, 0x09, 0xff, 0x33, 0x26);                 /* shra */
    ASSERT_VALUE(6, 0x35, 0x33, 0x27);                        /* xor */
}
END_TEST

/* What C leaves undefined. */
START_TEST(arithmetic_at_the_edges)
{
    ASSERT_RESULT(SP_CFI_INVALID, 0x35, 0x30, 0x1b); /* x / 0 */
    ASSERT_RESULT(SP_CFI_INVALID, 0x35, 0x30, 0x1d); /* x % 0 */
    ASSERT_VALUE(INT64_MIN, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b);
    ASSERT_VALUE(INT64_MIN, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x1f);
    ASSERT_VALUE(INT64_MIN, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x19);
    ASSERT_VALUE(0, 0x35, 0x08, 64, 0x24);
    ASSERT_VALUE(0, 0x35, 0x08, 64, 0x25);
    ASSERT_VALUE(0, 0x35, 0x08, 64, 0x26);
    ASSERT_VALUE(-1, 0x09, 0xfb, 0x08, 64, 0x26);
    ASSERT_VALUE(-1, 0x09, 0xfb, 0x09, 0xff, 0x26);
    ASSERT_VALUE(INT64_MIN, 0x31, 0x08, 63, 0x24);
}
END_TEST

START_TEST(comparisons)
{
    const struct {
        uint8_t opcode, below, equal, above;
    } cases[] = {{0x29, 0, 1, 0}, {0x2a, 0, 1, 1}, {0x2b, 0, 0, 1}, {0x2c, 1, 1, 0}, {0x2d, 1, 0, 0}, {0x2e, 1, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ASSERT_VALUE(cases[i].below, 0x09, 0xff, 0x31, cases[i].opcode); /* -1 against 1: signed */
        ASSERT_VALUE(cases[i].equal, 0x31, 0x31, cases[i].opcode);
        ASSERT_VALUE(cases[i].above, 0x31, 0x09, 0xff, cases[i].opcode);
    }
}
END_TEST

START_TEST(branches)
{
    ASSERT_VALUE(2, 0x31, 0x2f, 1, 0, 0x13, 0x32);         /* skip over the drop */
    ASSERT_VALUE(1, 0x31, 0x31, 0x28, 1, 0, 0x32);         /* bra taken, to the end */
    ASSERT_VALUE(2, 0x31, 0x30, 0x28, 1, 0, 0x32);         /* not taken */
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x2f, 1, 0);       /* a byte past the end */
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x2f, 0xfb, 0xff); /* a byte before the start */
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x2f, 0xff, 0x7f);
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x2f, 0x00, 0x80);
    /* A loop: from 5 down to 0. */
    ASSERT_VALUE(0, 0x35, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff);
    /* Loops that don't end. */
    ASSERT_RESULT(SP_CFI_INVALID, 0x2f, 0xfd, 0xff);
    ASSERT_RESULT(SP_CFI_INVALID, 0x31, 0x28, 0xfc, 0xff);
}
END_TEST

START_TEST(steps)
{
    uint8_t operations[1001];
    memset(operations, 0x96, sizeof operations);
    operations[0] = 0x31;
    ck_assert_int_eq(evaluate(operations, 1000), SP_CFI_VALUE);
    ck_assert_int_eq(evaluate(operations, 1001), SP_CFI_INVALID);
}
END_TEST

START_TEST(memory)
{
    ASSERT_VALUE(0x8887868584838281, 0x0a, 0x00, 0x10, 0x06);
    ASSERT_VALUE(0x81, 0x0a, 0x00, 0x10, 0x94, 1);
    ASSERT_VALUE(0x8281, 0x0a, 0x00, 0x10, 0x94, 2);
    ASSERT_VALUE(0x84838281, 0x0a, 0x00, 0x10, 0x94, 4);
    ASSERT_VALUE(0x8887868584838281, 0x0a, 0x00, 0x10, 0x94, 8);
    ASSERT_RESULT(SP_CFI_INVALID, 0x0a, 0x00, 0x10, 0x94, 0);
    ASSERT_RESULT(SP_CFI_INVALID, 0x0a, 0x00, 0x10, 0x94, 3);
    ASSERT_RESULT(SP_CFI_INVALID, 0x0a, 0x00, 0x10, 0x94, 16);
    ASSERT_RESULT(SP_CFI_UNREADABLE, 0x0a, 0x39, 0x10, 0x06);
    ASSERT_RESULT(SP_CFI_UNREADABLE, 0x30, 0x06);
    ASSERT_RESULT(SP_CFI_UNREADABLE, 0x09, 0xff, 0x06);
}
END_TEST

START_TEST(initial_value)
{
    const uint64_t cfa = 0x7000;
    ck_assert_int_eq(evaluate_from(&cfa, NULL, 0), SP_CFI_VALUE);
    ck_assert_uint_eq(value, cfa);
    ck_assert_int_eq(evaluate_from(&cfa, IMAGE_BYTES(0x23, 16)), SP_CFI_VALUE);
    ck_assert_uint_eq(value, cfa + 16);
}
END_TEST

/* The shapes in real tables. */
START_TEST(in_use)
{
    /* A PLT stub: rsp + 8 + ((rip & 15) >= 11) * 8. */
    const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    registers.value[16] = 0x401020;
    ck_assert_int_eq(evaluate(plt, sizeof plt), SP_CFI_VALUE);
    ck_assert_uint_eq(value, 0x708);
    registers.value[16] = 0x40102b;
    ck_assert_int_eq(evaluate(plt, sizeof plt), SP_CFI_VALUE);
    ck_assert_uint_eq(value, 0x710);
    /* A realigned frame: *(rbp - 8). */
    registers.value[6] = 0x1010;
    ASSERT_VALUE(0x908f8e8d8c8b8a89, 0x76, 0x78, 0x06);
    /* OpenSSL: *(rsp + 8 + r9 * 8) + 8. */
    registers.value[7] = 0x1000;
    registers.value[9] = 2;
    ASSERT_VALUE(0xa09f9e9d9c9b9a99 + 8, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8);
}
END_TEST

/* Operations that call frame information must not use, and those that don't exist. */
START_TEST(refused)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        static const uint8_t allowed[] = {0x03, 0x06, 0x92, 0x94, 0x96, 0xf1};
        if ((opcode >= 0x08 && opcode <= 0x4f && opcode != 0x18) || (opcode >= 0x70 && opcode <= 0x8f) ||
            memchr(allowed, (int)opcode, sizeof allowed))
            continue;
        const uint8_t operations[16] = {0x31, 0x31, 0x31, (uint8_t)opcode};
        ck_assert_msg(evaluate(operations, 4) == SP_CFI_INVALID, "opcode %#x", opcode);
        ck_assert_msg(evaluate(operations, 16) == SP_CFI_INVALID, "opcode %#x with operands", opcode);
    }
}
END_TEST

/* Operands cut off by the block's end, which is the segment's. */
START_TEST(cut_off)
{
    const uint8_t opcodes[] = {0x03, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
                               0x11, 0x15, 0x23, 0x28, 0x2f, 0x70, 0x80, 0x92, 0x94, 0xf1};
    const size_t operands[] = {8, 1, 1, 2, 2, 4, 4, 8, 8, 1, 1, 1, 1, 2, 2, 1, 1, 2, 1, 2};
    for (size_t i = 0; i < sizeof opcodes; i++) {
        for (size_t have = 0; have < operands[i]; have++) {
            uint8_t operations[16] = {0x31, opcodes[i]};
            ck_assert_msg(evaluate(operations, 2 + have) == SP_CFI_INVALID, "opcode %#x, %zu", opcodes[i], have);
        }
    }
}
END_TEST

START_TEST(positions)
{
    image_bytes(&image, IMAGE_BYTES(1, 0x31));
    struct sp_cfi_tables tables = image_tables(&image);
    uint64_t result = 0;
    ck_assert_int_eq(sp_cfi_evaluate(&tables, 0, &registers, NULL, read_memory, &image, &result, NULL), SP_CFI_VALUE);
    ck_assert_uint_eq(result, 1);
    const uint32_t outside[] = {1, 2, 3, UINT32_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        ck_assert_int_eq(sp_cfi_evaluate(&tables, outside[i], &registers, NULL, read_memory, &image, &result, NULL),
                         SP_CFI_INVALID);
    /* The segment ends among the operations. */
    image_bytes(&image, IMAGE_BYTES(3, 0x31, 0x31, 0x31));
    tables = image_tables(&image);
    ck_assert_int_eq(sp_cfi_evaluate(&tables, 2, &registers, NULL, read_memory, &image, &result, NULL), SP_CFI_VALUE);
    tables.segment_hi--;
    ck_assert_int_eq(sp_cfi_evaluate(&tables, 2, &registers, NULL, read_memory, &image, &result, NULL), SP_CFI_INVALID);
    registers.known = 0;
    image_bytes(&image, IMAGE_BYTES(2, 0x70, 0));
    tables = image_tables(&image);
    ck_assert_int_eq(sp_cfi_evaluate(&tables, 6, &registers, NULL, read_memory, &image, &result, NULL),
                     SP_CFI_NEEDS_REGISTER);
}
END_TEST

Suite *expression_suite(void)
{
    Suite *suite = suite_create("cfi expression");
    TCase *tests = tcase_create("expression");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, constants);
    tcase_add_test(tests, one_value_each);
    tcase_add_test(tests, encoded_address);
    tcase_add_test(tests, from_registers);
    tcase_add_test(tests, unknown_registers);
    tcase_add_test(tests, stack_operations);
    tcase_add_test(tests, stack_underflow);
    tcase_add_test(tests, stack_overflow);
    tcase_add_test(tests, arithmetic);
    tcase_add_test(tests, arithmetic_at_the_edges);
    tcase_add_test(tests, comparisons);
    tcase_add_test(tests, branches);
    tcase_add_test(tests, steps);
    tcase_add_test(tests, memory);
    tcase_add_test(tests, initial_value);
    tcase_add_test(tests, in_use);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, cut_off);
    tcase_add_test(tests, positions);
    suite_add_tcase(suite, tests);
    return suite;
}
