/* SPDX-License-Identifier: MIT */
/* A copy of a fuzzer's input whose neighbours may not be touched. */
#ifndef TESTS_FUZZ_GUARDED_H
#define TESTS_FUZZ_GUARDED_H

#include <stddef.h>
#include <stdint.h>

#define GUARDED_MOST (1 << 20)

/*
 * Copies up to GUARDED_MOST bytes so that they end at an inaccessible page; under AddressSanitizer what is before them
 * is inaccessible too. The copy of the same size is always at the same address, so that absolute pointers in an input
 * mean the same in each run. It holds until the next call.
 */
uint8_t *guarded_copy(const uint8_t *data, size_t size);

#endif
