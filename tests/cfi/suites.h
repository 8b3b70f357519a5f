/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CFI_SUITES_H
#define TESTS_CFI_SUITES_H

#include <check.h>

Suite *entry_suite(void);
Suite *encoding_suite(void);
Suite *header_suite(void);
Suite *program_suite(void);
Suite *expression_suite(void);
Suite *real_suite(void);

#endif
