/* SPDX-License-Identifier: MIT */
/* TAP with a process a case, in plain C, so that static, musl and sanitized programs can use it too. */
#ifndef SPWALK_TESTS_TAP_H
#define SPWALK_TESTS_TAP_H

#include <stdbool.h>

/* Runs one case in a process of its own, under an alarm: a hang is a failure like any other. */
void tap_case(const char *name, void (*run)(void));

/* A case that is not run, and why. */
void tap_skip(const char *name, const char *why);

/* Prints the plan; what main returns. */
int tap_end(void);

/* Ends the case as failed, with a line that says why. */
void tap_fail(const char *file, int line, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));

#define EXPECT(condition, ...)                                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            tap_fail(__FILE__, __LINE__, __VA_ARGS__);                                                                 \
    } while (0)

#endif
