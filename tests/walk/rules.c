/* SPDX-License-Identifier: MIT */
/* The table of rules: what is found is what was put, in either size of the table and while it grows. */
#include "walk/rules.h"

#include <check.h>
#include <stdlib.h>

enum { MANY = 20000 };

static uintptr_t addresses[MANY];

static sp_rule rule_of(unsigned i)
{
    sp_rule rule = sp_rule_make(i % 2 ? SP_KIND_SP : SP_KIND_RBP, 1 + i % SP_RULE_OFFSET_MAX, i % 16);
    return (i % 5 == 0 ? SP_RULE_VOLATILE : 0) | sp_rule_in_state(rule, (uint64_t)(i % 4) << 20);
}

static int compare(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* As those of a program and a library, and any others; all different, in no order. */
static void choose_addresses(unsigned seed)
{
    srandom(seed);
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t any = (uint64_t)random() << 31 ^ (uint64_t)random();
        const uint64_t of[] = {0x555555554000 + any % 4000000, 0x7ffff7c00000 + any % 4000000, any >> (62 - 47)};
        addresses[i] = of[i % 3];
    }
    qsort(addresses, MANY, sizeof *addresses, compare);
    for (unsigned i = 1; i < MANY; i++)
        if (addresses[i] <= addresses[i - 1])
            addresses[i] = addresses[i - 1] + 1;
    for (unsigned i = MANY - 1; i > 0; i--) {
        unsigned j = (unsigned)random() % (i + 1);
        uintptr_t address = addresses[i];
        addresses[i] = addresses[j];
        addresses[j] = address;
    }
}

static unsigned found(unsigned first, unsigned end)
{
    unsigned count = 0;
    for (unsigned i = first; i < end; i++) {
        sp_rule rule = sp_rules_get(addresses[i]);
        ck_assert(rule == 0 || rule == rule_of(i));
        count += rule != 0;
    }
    return count;
}

START_TEST(parts_of_a_rule)
{
    for (uint64_t words = 1; words <= SP_RULE_OFFSET_MAX; words = words < 100 ? words + 1 : words * 3 / 2) {
        for (unsigned slot = 0; slot <= SP_RULE_SLOT_MAX; slot++) {
            sp_rule rule = sp_rule_make(SP_KIND_RBP, words, slot);
            ck_assert_int_eq(sp_rule_kind(rule), SP_KIND_RBP);
            ck_assert_uint_eq(sp_rule_offset(rule), words * 8);
            ck_assert_uint_eq(sp_rule_slot(rule), slot);
            ck_assert_uint_eq(rule & (SP_RULE_TAG | SP_RULE_STATE | SP_RULE_VOLATILE), 0);
        }
    }
    sp_rule most = sp_rule_make(SP_KIND_SP, SP_RULE_OFFSET_MAX, SP_RULE_SLOT_MAX);
    ck_assert_uint_eq(sp_rule_offset(most), (0xFFFF + 1) * 8);
    const sp_rule states[] = {0, SP_RULE_BY_WORD, SP_RULE_PROVEN, SP_RULE_UNPROVABLE};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++)
            ck_assert_uint_eq(sp_rule_state(sp_rule_in_state(most | states[i], states[j])), states[j]);
    ck_assert_uint_eq(sp_rule_in_state(sp_rule_in_state(most, SP_RULE_UNPROVABLE), 0), most);
}
END_TEST

START_TEST(few_rules_take_one_page)
{
    choose_addresses(1);
    for (unsigned i = 0; i < 60; i++) {
        sp_rules_put(addresses[i], rule_of(i));
        ck_assert_uint_eq(sp_rules_get(addresses[i]), rule_of(i));
    }
    ck_assert_uint_ge(found(0, 60), 50);
    for (unsigned i = 1 << SP_RULES_FIRST_LOG2; i < 1 << SP_RULES_LOG2; i++)
        ck_assert_uint_eq(sp_rules[i], 0);
}
END_TEST

START_TEST(growing)
{
    static sp_rule before[MANY];
    choose_addresses(3);
    unsigned i = 0;
    while (sp_rules_further == 0) {
        ck_assert_uint_lt(i, 400);
        for (unsigned j = 0; j < i; j++)
            before[j] = sp_rules_get(addresses[j]);
        sp_rules_put(addresses[i], rule_of(i));
        i++;
    }
    /* All that were there still are, but for the last one's victim, and those of modules that may be unloaded. */
    unsigned lost = 0;
    for (unsigned j = 0; j < i; j++) {
        sp_rule after = sp_rules_get(addresses[j]);
        ck_assert(after == before[j] || after == 0 || j == i - 1);
        lost += after == 0 && before[j] != 0 && !(before[j] & SP_RULE_VOLATILE);
    }
    ck_assert_uint_le(lost, 1);
    ck_assert_uint_gt(found(0, i), i / 2);
    for (unsigned j = 1 << SP_RULES_FIRST_LOG2; j < 1 << SP_RULES_LOG2; j++)
        ck_assert_uint_eq(sp_rules[j] & SP_RULE_VOLATILE, 0);
}
END_TEST

START_TEST(many)
{
    choose_addresses(7);
    for (unsigned i = 0; i < MANY; i++) {
        sp_rules_put(addresses[i], rule_of(i));
        if (i % 1000 == 0)
            found(0, i);
    }
    ck_assert_uint_ne(sp_rules_further, 0);
    /* The last ones are nearly all there. */
    ck_assert_uint_ge(found(MANY - 400, MANY), 350);
    sp_rules_forget();
    ck_assert_uint_eq(found(0, MANY), 0);
}
END_TEST

/* Those whose hashes differ in one bit, be it of the place or of the tag: either is found, or not; never as the other.
 */
START_TEST(nearly_the_same)
{
    const uint64_t factor = sp_rules_hash(1) >> 17, all = (UINT64_C(1) << 47) - 1;
    uint64_t inverse = factor;
    for (unsigned i = 0; i < 5; i++)
        inverse *= 2 - factor * inverse;
    choose_addresses(11);
    for (unsigned i = 0; i < 300; i++) {
        for (unsigned bit = 0; bit < 47; bit++) {
            uintptr_t one = addresses[i], other = (one + (inverse << bit)) & all;
            ck_assert_uint_eq((sp_rules_hash(other) - sp_rules_hash(one)) >> 17, UINT64_C(1) << bit);
            sp_rules_forget();
            sp_rules_put(one, rule_of(1));
            ck_assert_uint_eq(sp_rules_get(other), 0);
            sp_rules_put(other, rule_of(2));
            ck_assert(sp_rules_get(one) == rule_of(1) || sp_rules_get(one) == 0);
            ck_assert_uint_eq(sp_rules_get(other), rule_of(2));
        }
    }
}
END_TEST

START_TEST(addresses_that_no_program_has)
{
    const uintptr_t beyond[] = {UINT64_C(1) << 47, UINT64_C(0xffffffffff600000), UINTPTR_MAX,
                                (UINT64_C(1) << 47) + 0x555555555000};
    const uintptr_t within[] = {0x555555555000, 0x7fffffffffff, 1, 0};
    for (unsigned i = 0; i < 4; i++) {
        sp_rules_put(beyond[i], rule_of(1));
        ck_assert_uint_eq(sp_rules_get(beyond[i]), 0);
        sp_rules_put(within[i], rule_of(2));
        ck_assert_uint_eq(sp_rules_get(within[i]), rule_of(2));
        ck_assert_uint_eq(sp_rules_get(within[i] + (UINT64_C(1) << 47)), 0);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rules");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, parts_of_a_rule);
    tcase_add_test(tcase, few_rules_take_one_page);
    tcase_add_test(tcase, growing);
    tcase_add_test(tcase, many);
    tcase_add_test(tcase, nearly_the_same);
    tcase_add_test(tcase, addresses_that_no_program_has);
    Suite *suite = suite_create("the table of rules");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
