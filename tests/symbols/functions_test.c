/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <string.h>

#include "symbols/function_table.h"

#define FUNCTION(start, size, name)                                                                                    \
    {                                                                                                                  \
        {start, size, name, sizeof name - 1, STT_FUNC, STB_GLOBAL}, 1000                                               \
    }
#define LABEL(start, name)                                                                                             \
    {                                                                                                                  \
        {start, 0, name, sizeof name - 1, STT_NOTYPE, STB_LOCAL}, 1000                                                 \
    }

static const char *name_at(const struct sp_function_table *table, uint64_t address)
{
    const struct sp_candidate *function = sp_function_table_find(table, address);
    return function == NULL ? "" : function->name;
}

#define BUILD(...)                                                                                                     \
    struct sp_function_entry entries[] = {__VA_ARGS__};                                                                \
    struct sp_function_table table;                                                                                    \
    ck_assert_int_eq(sp_function_table_build(entries, sizeof entries / sizeof entries[0], &table), 0)

START_TEST(gaps)
{
    BUILD(FUNCTION(100, 10, "a"), FUNCTION(112, 8, "b"));
    ck_assert_str_eq(name_at(&table, 99), "");
    ck_assert_str_eq(name_at(&table, 100), "a");
    ck_assert_str_eq(name_at(&table, 109), "a");
    ck_assert_str_eq(name_at(&table, 110), "");
    ck_assert_str_eq(name_at(&table, 111), "");
    ck_assert_str_eq(name_at(&table, 112), "b");
    ck_assert_str_eq(name_at(&table, 120), "");
    ck_assert_str_eq(sp_function_table_below(&table, 111)->name, "a");
    ck_assert_ptr_null(sp_function_table_below(&table, 99));
    sp_function_table_free(&table);
}
END_TEST

START_TEST(aliases)
{
    BUILD(FUNCTION(100, 10, "__write"), FUNCTION(100, 10, "write"), {{100, 10, "aaaaa", 5, STT_FUNC, STB_WEAK}, 1000},
          LABEL(100, "w"));
    ck_assert_str_eq(name_at(&table, 105), "write");
    ck_assert_uint_eq(table.count, 1);
    sp_function_table_free(&table);
}
END_TEST

/* What only the longer alias covers is its own. */
START_TEST(longer_alias)
{
    BUILD(FUNCTION(100, 10, "f"), FUNCTION(100, 30, "_whole"));
    ck_assert_str_eq(name_at(&table, 105), "f");
    ck_assert_str_eq(name_at(&table, 115), "_whole");
    sp_function_table_free(&table);
}
END_TEST

START_TEST(without_size)
{
    BUILD(FUNCTION(100, 0, "start"), FUNCTION(150, 10, "next"), LABEL(155, "label"), LABEL(200, "tail"));
    ck_assert_str_eq(name_at(&table, 149), "start");
    ck_assert_str_eq(name_at(&table, 156), "next");
    ck_assert_str_eq(name_at(&table, 170), "");
    ck_assert_str_eq(name_at(&table, 999), "tail");
    ck_assert_str_eq(name_at(&table, 1000), "");
    sp_function_table_free(&table);
}
END_TEST

START_TEST(size_wraps)
{
    BUILD(FUNCTION(UINT64_MAX - 10, 100, "top"));
    ck_assert_str_eq(name_at(&table, UINT64_MAX - 1), "top");
    sp_function_table_free(&table);
}
END_TEST

START_TEST(versions_are_cut)
{
    ck_assert_uint_eq(sp_name_length("memcpy@@GLIBC_2.14"), 6);
    ck_assert_uint_eq(sp_name_length("@odd"), 4);
    char empty[2] = "";
    ck_assert_uint_eq(sp_name_length(empty), 0);
}
END_TEST

Suite *functions_suite(void)
{
    Suite *suite = suite_create("functions");
    TCase *tests = tcase_create("table");
    tcase_add_test(tests, gaps);
    tcase_add_test(tests, aliases);
    tcase_add_test(tests, longer_alias);
    tcase_add_test(tests, without_size);
    tcase_add_test(tests, size_wraps);
    tcase_add_test(tests, versions_are_cut);
    suite_add_tcase(suite, tests);
    return suite;
}
