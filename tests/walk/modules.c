/* SPDX-License-Identifier: MIT */
/* What the walker knows of modules: of more of them than it has places for, of one in place of another. */
#include "walk/modules.c"

#include "walk/rules.h"
#include "word/record.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void expect_known(void)
{
    struct sp_known_module known;
    uintptr_t here = (uintptr_t)expect_known, there = (uintptr_t)malloc;
    for (int i = 0; i < 3; i++) {
        ck_assert(sp_known_get(here, &known));
        ck_assert(here >= known.module.lo && here < known.module.hi && known.tables.hdr != 0);
        ck_assert(sp_known_get(there, &known));
        ck_assert(there >= known.module.lo && there < known.module.hi && known.tables.hdr != 0);
        ck_assert(!sp_known_get(16, &known));
    }
}

START_TEST(with_places)
{
    expect_known();
    ck_assert_uint_eq(all.slots_used, 2);
}
END_TEST

/* Each thread that finds the last place taken, when it had seen it free, has counted it once more. */
START_TEST(without_a_place)
{
    static const uint32_t counted[] = {SLOTS - 1, SLOTS, SLOTS + 1, SLOTS + 1000000};
    for (unsigned i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        all.slots_used = counted[i];
        expect_known();
        ck_assert_uint_eq(all.slots_used, counted[i] < SLOTS ? SLOTS : counted[i]);
    }
}
END_TEST

/* A module with one record, laid out as it is mapped. */
static struct {
    Elf64_Phdr phdr[2];
    struct {
        Elf64_Nhdr header;
        char name[8];
        struct sp_record record;
    } note;
    __attribute__((aligned(4096))) char text[16 << 20];
} image;

static struct sp_known_module covered_module(size_t text, size_t from, size_t size, bool is_volatile)
{
    image.note.header = (Elf64_Nhdr){sizeof SP_NOTE_OWNER, sizeof image.note.record, SP_NOTE_FRAMES};
    memcpy(image.note.name, SP_NOTE_OWNER, sizeof SP_NOTE_OWNER);
    image.note.record.start = (int32_t)((intptr_t)image.text + (intptr_t)from - (intptr_t)&image.note.record.start);
    image.note.record.size = (uint32_t)size;
    size_t end = (size_t)(image.text - (char *)&image) + text;
    image.phdr[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = end};
    image.phdr[1] = (Elf64_Phdr){.p_type = PT_NOTE,
                                 .p_flags = PF_R,
                                 .p_vaddr = (uintptr_t)&image.note - (uintptr_t)&image,
                                 .p_memsz = sizeof image.note,
                                 .p_align = 4};
    uintptr_t lo = (uintptr_t)&image;
    return (struct sp_known_module){.module = {.lo = lo, .hi = lo + end, .bias = lo, .phdr = image.phdr, .phnum = 2},
                                    .is_volatile = is_volatile};
}

static void expect_coverage(const struct sp_known_module *known, size_t from, size_t size)
{
    ck_assert_uint_ne(known->coverage.span, 0);
    for (size_t i = 0; i + (size_t)(image.text - (char *)&image) < known->coverage.span; i += 8)
        if (sp_covered_unless_replaced(&known->coverage, (uintptr_t)image.text + i) != (i >= from && i < from + size))
            ck_abort_msg("%zu bytes into the text", i);
}

/* The place of one that was unloaded holds the next one's bits, and nothing of the former's. */
START_TEST(one_after_the_other)
{
    struct slot slot = {0};
    struct sp_known_module known = covered_module(1 << 20, 4096 + 8, 500000, true);
    build_coverage(&slot, &known);
    expect_coverage(&known, 4096 + 8, 500000);
    const struct sp_known_module former = known;
    const uint64_t *bits = slot.bits;

    known = covered_module(900000, 64, 80000, true);
    build_coverage(&slot, &known);
    ck_assert_ptr_eq(slot.bits, bits);
    expect_coverage(&known, 64, 80000);
    for (uintptr_t at = 0; at < former.coverage.span; at += 8)
        (void)sp_covered_unless_replaced(&former.coverage, former.coverage.lo + at);

    known = covered_module(8 << 20, 1 << 20, 6 << 20, true);
    build_coverage(&slot, &known);
    ck_assert_ptr_ne(slot.bits, bits);
    expect_coverage(&known, 1 << 20, 6 << 20);
    ck_assert(!all.first_bits_are_taken);
}
END_TEST

START_TEST(first_bits_for_one_that_stays)
{
    struct slot slot = {0}, other = {0};
    struct sp_known_module known = covered_module(1 << 20, 4096 + 8, 500000, false);
    build_coverage(&slot, &known);
    ck_assert_ptr_eq(known.coverage.whole, all.first_bits);
    ck_assert_ptr_null(slot.bits);
    expect_coverage(&known, 4096 + 8, 500000);
    struct sp_known_module another = covered_module(2 << 20, 16, 100, false);
    build_coverage(&other, &another);
    ck_assert_ptr_eq(another.coverage.whole, other.bits);
    expect_coverage(&another, 16, 104);
    expect_coverage(&known, 4096 + 8, 500000);
}
END_TEST

START_TEST(first_bits_that_do_not_suffice)
{
    struct slot slot = {0};
    struct sp_known_module known = covered_module(sizeof image.text, 3, sizeof image.text - 3, false);
    build_coverage(&slot, &known);
    ck_assert_ptr_eq(known.coverage.whole, slot.bits);
    expect_coverage(&known, 8, sizeof image.text - 8);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("modules");
    tcase_add_test(tcase, with_places);
    tcase_add_test(tcase, without_a_place);
    tcase_add_test(tcase, one_after_the_other);
    tcase_add_test(tcase, first_bits_for_one_that_stays);
    tcase_add_test(tcase, first_bits_that_do_not_suffice);
    Suite *suite = suite_create("what is known of modules");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
