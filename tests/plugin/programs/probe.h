/* SPDX-License-Identifier: MIT */
/*
 * Asks, while a program runs, whether a function's frame word leads to its return address.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WORD_WRONG = 0, WORD_RIGHT = 1, WORD_NONE = 2 };

/* What the word at the caller's SP says: whether it leads to this return address, in probe.S. */
int probe(void *return_address);

#ifdef __cplusplus
}
#endif

/* Not to be inlined, cloned or analysed, so that its frame is its own. */
#define ALONE __attribute__((noipa))

/* To be used in a function that the plugin covers. In a build without the plugin it does nothing. */
#ifdef WITH_WORDS
#define EXPECT_WORD()                                                                                                  \
    do {                                                                                                               \
        int answer = probe(__builtin_return_address(0));                                                               \
        if (answer != WORD_RIGHT) {                                                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, __func__,                                           \
                    answer == WORD_NONE ? "there is no word" : "the word does not lead to the return address");        \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)
#else
#define EXPECT_WORD() (void)0
#endif

#endif
