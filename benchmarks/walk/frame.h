/* SPDX-License-Identifier: MIT */
/* What each generated function is made of. */
#ifndef FRAME_H
#define FRAME_H

#include "chain.h"

/* The number in each place's text keeps the compiler from folding two places into one. */
#define SITE(n, s)                                                                                                     \
    case s:                                                                                                            \
        chain->call[level](chain, chain, 1, 1, chain->next[level]);                                                    \
        __asm__ volatile("# place %c0" : : "i"((n)*1000 + (s)));                                                       \
        break;

#define KEEP_0
#define KEEP_1 long kept1 = chain->noise[1];
#define KEEP_2 KEEP_1 long kept2 = chain->noise[2];
#define KEEP_3 KEEP_2 long kept3 = chain->noise[3];
#define USE_0
#define USE_1 __asm__ volatile("" : "+r"(kept1));
#define USE_2 USE_1 __asm__ volatile("" : "+r"(kept2));
#define USE_3 USE_2 __asm__ volatile("" : "+r"(kept3));

#define FRAME(n, size, kept)                                                                                           \
    static void *frame_##n(const void *argument, const void *unused, uint64_t one, uint64_t length,                    \
                           frame_compare *compare)                                                                     \
    {                                                                                                                  \
        struct chain *chain = (struct chain *)argument;                                                                \
        char locals[size];                                                                                             \
        int level = ++chain->level;                                                                                    \
        (void)unused, (void)one, (void)length, (void)compare;                                                          \
        chain->truth[level] = __builtin_return_address(0);                                                             \
        __asm__ volatile("" : : "r"(locals) : "memory");                                                               \
        KEEP_##kept do                                                                                                 \
        {                                                                                                              \
            switch (chain->site[level]) {                                                                              \
                SITES(n)                                                                                               \
            }                                                                                                          \
            USE_##kept                                                                                                 \
        }                                                                                                              \
        while (chain->keep >= level)                                                                                   \
            ;                                                                                                          \
        chain->level = level - 1;                                                                                      \
        return 0;                                                                                                      \
    }

#endif
