/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <stdlib.h>

#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(ranges_suite());
    srunner_add_suite(runner, functions_suite());
    srunner_add_suite(runner, map_suite());
    srunner_add_suite(runner, link_map_suite());
    srunner_add_suite(runner, process_suite());
    srunner_add_suite(runner, print_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
