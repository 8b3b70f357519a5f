/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_TEST_SUITES_H
#define SPWALK_TEST_SUITES_H

#include <check.h>

Suite *ranges_suite(void);
Suite *functions_suite(void);
Suite *map_suite(void);
Suite *link_map_suite(void);
Suite *process_suite(void);
Suite *print_suite(void);

#endif
