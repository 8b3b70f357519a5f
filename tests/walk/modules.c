/* SPDX-License-Identifier: MIT */
/* What the walker knows of modules, where there are more of them than it has places for. */
#include "walk/modules.c"

#include "walk/rules.h"

#include <check.h>
#include <stdlib.h>

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
    ck_assert_uint_eq(slots_used, 2);
}
END_TEST

/* Each thread that finds the last place taken, when it had seen it free, has counted it once more. */
START_TEST(without_a_place)
{
    static const uint32_t counted[] = {SLOTS - 1, SLOTS, SLOTS + 1, SLOTS + 1000000};
    for (unsigned i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        slots_used = counted[i];
        expect_known();
        ck_assert_uint_eq(slots_used, counted[i] < SLOTS ? SLOTS : counted[i]);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("modules");
    tcase_add_test(tcase, with_places);
    tcase_add_test(tcase, without_a_place);
    Suite *suite = suite_create("what is known of modules");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
