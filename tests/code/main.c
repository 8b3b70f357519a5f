/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <stdlib.h>

int main(void)
{
    SRunner *runner = srunner_create(instruction_suite());
    srunner_add_suite(runner, path_suite());
    srunner_add_suite(runner, straight_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
