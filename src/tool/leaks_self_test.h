/* SPDX-License-Identifier: MIT */
/* A program that leaks on purpose, this one, and whether the detector reports of it what is known. */
#ifndef SPWALK_LEAKS_SELF_TEST_H
#define SPWALK_LEAKS_SELF_TEST_H

/* The hidden option that makes this program the one that leaks. */
#define LEAKS_SELF_TEST_OPTION "--leak-on-purpose"

/* Leaks and does wrong on purpose. Returns the exit status that the self test expects. */
int leaks_self_test_leak(void);

/*
 * Runs this program with the preloaded part at `library` and these options (SPWALK_LEAKS), and checks its report.
 * Prints a line for each thing checked.
 * Returns the exit status: 0 where all is as expected, 1 where something is not, 2 where it could not be run.
 */
int leaks_self_test(const char *library, const char *options);

#endif
