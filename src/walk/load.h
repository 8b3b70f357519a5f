/* SPDX-License-Identifier: MIT */
/*
 * The one way in which stack memory is read.
 *
 * The load is hidden from the compiler: what lies on a stack has no C type, may be unaligned, and a sanitizer may have
 * poisoned it. The caller has made sure, by the stack's bounds, that the address can be read.
 */
#ifndef SPWALK_LOAD_H
#define SPWALK_LOAD_H

#include <stdint.h>

static inline uint64_t sp_load(uintptr_t address)
{
    uint64_t value;
    __asm__("movq %1, %0" : "=r"(value) : "m"(*(const uint64_t *)address));
    return value;
}

/* The low 16 bits of the word `words` words above address. One instruction, since the loop over words waits for it. */
static inline uintptr_t sp_load_length(uintptr_t address, uintptr_t words)
{
    uintptr_t length;
    __asm__("movzwl (%1, %2, 8), %k0"
            : "=r"(length)
            : "r"(address), "r"(words), "m"(*(const uint64_t *)(address + 8 * words)));
    return length;
}

#endif
