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

#endif
