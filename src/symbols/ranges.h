/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses that may nest and overlap, made into disjoint ones.
 *
 *     before:  A [----------------)        after:  A [---)
 *              B     [----)                        B     [----)
 *                                                  A          [----)
 */
#ifndef SPWALK_RANGES_H
#define SPWALK_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct sp_range {
    uint64_t start;
    uint64_t end;  /* the first address past it */
    uint32_t item; /* what the range belongs to: the caller's */
    uint32_t rank; /* the higher covers the lower */
};

struct sp_ranges {
    struct sp_range *ranges; /* sorted, disjoint, none empty */
    size_t count;
};

/*
 * Sorts ranges in place and fills result with disjoint ones: each address belongs to the range of highest rank among
 * those that contain it; of equal rank, to the one that starts last; of those, to the one of the lowest item. Empty and
 * inverted ranges are dropped.
 *
 * Returns 0, or -1 where memory is short. result->ranges is to be freed.
 */
int sp_ranges_flatten(struct sp_range *ranges, size_t count, struct sp_ranges *result);

/* The range that contains an address, or NULL. */
const struct sp_range *sp_ranges_find(const struct sp_ranges *ranges, uint64_t address);

#endif
