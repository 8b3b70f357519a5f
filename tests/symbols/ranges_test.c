/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <stdlib.h>

#include "symbols/ranges.h"

static struct sp_ranges flatten(struct sp_range *ranges, size_t count)
{
    struct sp_ranges result;
    ck_assert_int_eq(sp_ranges_flatten(ranges, count, &result), 0);
    for (size_t i = 1; i < result.count; i++)
        if (result.ranges[i - 1].end > result.ranges[i].start)
            ck_abort_msg("ranges overlap");
    return result;
}

static int owner(const struct sp_ranges *ranges, uint64_t address)
{
    const struct sp_range *range = sp_ranges_find(ranges, address);
    return range == NULL ? -1 : (int)range->item;
}

START_TEST(nested)
{
    struct sp_range in[] = {{10, 30, 0, 0}, {15, 20, 1, 0}};
    struct sp_ranges out = flatten(in, 2);
    ck_assert_uint_eq(out.count, 3);
    ck_assert_int_eq(owner(&out, 9), -1);
    ck_assert_int_eq(owner(&out, 10), 0);
    ck_assert_int_eq(owner(&out, 15), 1);
    ck_assert_int_eq(owner(&out, 19), 1);
    ck_assert_int_eq(owner(&out, 20), 0);
    ck_assert_int_eq(owner(&out, 30), -1);
    free(out.ranges);
}
END_TEST

/* The deeper one holds, though the other starts later. */
START_TEST(rank_before_start)
{
    struct sp_range in[] = {{0, 100, 0, 1}, {10, 20, 1, 2}, {15, 40, 2, 1}};
    struct sp_ranges out = flatten(in, 3);
    ck_assert_int_eq(owner(&out, 16), 1);
    ck_assert_int_eq(owner(&out, 20), 2);
    ck_assert_int_eq(owner(&out, 40), 0);
    free(out.ranges);
}
END_TEST

START_TEST(empty_and_last)
{
    struct sp_range in[] = {{5, 5, 0, 0}, {7, 6, 1, 0}, {UINT64_MAX - 1, UINT64_MAX, 2, 0}};
    struct sp_ranges out = flatten(in, 3);
    ck_assert_uint_eq(out.count, 1);
    ck_assert_int_eq(owner(&out, UINT64_MAX - 1), 2);
    ck_assert_int_eq(owner(&out, UINT64_MAX), -1);
    free(out.ranges);
    ck_assert_int_eq(sp_ranges_flatten(NULL, 0, &out), 0);
    ck_assert_int_eq(owner(&out, 1), -1);
}
END_TEST

/* Against looking at every range for every address. */
START_TEST(random_ranges)
{
    srand((unsigned)_i);
    struct sp_range in[24], kept[24];
    for (unsigned i = 0; i < 24; i++) {
        uint64_t start = (uint64_t)rand() % 60;
        in[i] = kept[i] = (struct sp_range){start, start + (uint64_t)rand() % 20, i, (uint32_t)rand() % 3};
    }
    struct sp_ranges out = flatten(in, 24);
    for (uint64_t at = 0; at < 90; at++) {
        const struct sp_range *best = NULL;
        for (unsigned i = 0; i < 24; i++) {
            const struct sp_range *r = &kept[i];
            if (at < r->start || at >= r->end)
                continue;
            if (best == NULL || r->rank > best->rank || (r->rank == best->rank && r->start > best->start))
                best = r;
        }
        if (owner(&out, at) != (best == NULL ? -1 : (int)best->item))
            ck_abort_msg("wrong owner of %lu", at);
    }
    free(out.ranges);
}
END_TEST

Suite *ranges_suite(void)
{
    Suite *suite = suite_create("ranges");
    TCase *tests = tcase_create("flatten");
    tcase_add_test(tests, nested);
    tcase_add_test(tests, rank_before_start);
    tcase_add_test(tests, empty_and_last);
    tcase_add_loop_test(tests, random_ranges, 0, 200);
    suite_add_tcase(suite, tests);
    return suite;
}
