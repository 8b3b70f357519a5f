/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <stdlib.h>

int main(void)
{
    SRunner *runner = srunner_create(entry_suite());
    srunner_add_suite(runner, encoding_suite());
    srunner_add_suite(runner, header_suite());
    srunner_add_suite(runner, program_suite());
    srunner_add_suite(runner, expression_suite());
    srunner_add_suite(runner, real_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
