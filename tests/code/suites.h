/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CODE_SUITES_H
#define TESTS_CODE_SUITES_H

#include <check.h>

Suite *instruction_suite(void);
Suite *path_suite(void);
Suite *straight_suite(void);

#endif
