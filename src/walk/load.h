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

/*
 * The low 16 bits of the frame word at sp, which is below + 8, and sp + 8 times these. These are the two instructions
 * that the loop over words waits for: the load goes by `below`, so that it need not wait for the sum that sp is, and an
 * address of two parts takes a cycle less than one of three.
 */
static inline uintptr_t sp_load_length(uintptr_t below, uintptr_t sp, uintptr_t *pc_at)
{
    uintptr_t length, next;
    __asm__("movzwl 8(%2), %k0\n\t"
            "leaq (%3, %0, 8), %1"
            : "=&r"(length), "=r"(next)
            : "r"(below), "r"(sp), "m"(*(const uint64_t *)(below + 8)));
    *pc_at = next;
    return length;
}

#endif
