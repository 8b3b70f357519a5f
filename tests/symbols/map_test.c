/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/map_view.h"
#include "tool/map_write.h"

#define FUNCTIONS 3000

static char names[FUNCTIONS][600];
static struct sp_function_table table;
static uint8_t *bytes;
static size_t size;

/* Functions of all kinds: sized with gaps, without size, nested, far apart, with long names and odd bytes in them. */
static void make(bool with_lines)
{
    static struct sp_function_entry entries[FUNCTIONS];
    static struct sp_map_row rows[1000];
    static const char *const files[] = {"/a/b.c", "/a/a rather longer path.h", ""};
    uint64_t at = 0x401000;
    srand(7);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        uint64_t length = 1 + (uint64_t)rand() % 300;
        snprintf(names[i], sizeof names[i], i % 97 == 0 ? "%0500u" : "_ZN5space%u4nameE", i);
        if (i % 89 == 0)
            names[i][0] = (char)(128 + i % 100);
        entries[i] = (struct sp_function_entry){
            {at, i % 13 == 0 ? 0 : length, names[i], (uint32_t)strlen(names[i]), STT_FUNC, STB_GLOBAL}, at + length};
        if (i % 29 == 0)
            at += 2; /* the next one is within this one */
        else
            at += length + (i % 17 == 0 ? 100000 : i % 5 == 0 ? 300 : (uint64_t)rand() % 16);
    }
    ck_assert_int_eq(sp_function_table_build(entries, FUNCTIONS, &table), 0);
    for (unsigned i = 0; i < 1000; i++)
        rows[i] = (struct sp_map_row){0x401000 + 7 * i, i % 3, i % 10 == 9 ? 0 : 1 + (i * 7919) % 5000};
    struct sp_map_contents contents = {
        .build_id = (const uint8_t *)"0123456789",
        .build_id_size = 10,
        .functions = &table,
        .rows = with_lines ? rows : NULL,
        .row_count = with_lines ? 1000 : 0,
        .files = files,
        .file_count = 3,
    };
    ck_assert_int_eq(sp_map_make(&contents, &bytes, &size), 0);
}

static void unmake(void)
{
    free(bytes);
    sp_function_table_free(&table);
}

START_TEST(same_as_table)
{
    struct sp_map_view view;
    make(false);
    ck_assert_ptr_null(sp_map_view_open(bytes, size, &view));
    ck_assert_uint_eq(view.build_id.size, 10);
    uint64_t last = table.ranges.ranges[table.ranges.count - 1].end;
    for (uint64_t at = 0x400ff0; at < last + 1000; at += at % 50000 < 5000 ? 1 : 17) {
        const struct sp_candidate *expected = sp_function_table_find(&table, at);
        struct sp_map_function function;
        enum sp_miss miss;
        char name[700];
        bool found = sp_map_view_find(&view, at, &function, &miss);
        /* Check's own assertions write down where they are, which takes long in a loop. */
        if (found != (expected != NULL))
            ck_abort_msg("at %#lx", at);
        if (found ? function.start != expected->start || function.size != expected->size ||
                        sp_map_view_name(&view, &function, name, sizeof name) != expected->name_length ||
                        strcmp(name, expected->name) != 0
                  : miss != (at < 0x401000 ? SP_MISS_BEFORE_FIRST
                             : at >= last  ? SP_MISS_AFTER_LAST
                                           : SP_MISS_GAP))
            ck_abort_msg("wrong answer at %#lx", at);
    }
    unmake();
}
END_TEST

START_TEST(lines)
{
    struct sp_map_view view;
    struct sp_map_bytes file;
    uint32_t line;
    make(true);
    ck_assert_ptr_null(sp_map_view_open(bytes, size, &view));
    ck_assert(!sp_map_view_line(&view, 0x400fff, &file, &line));
    for (unsigned i = 0; i < 1000; i++) {
        bool found = sp_map_view_line(&view, 0x401000 + 7 * i + i % 7, &file, &line);
        ck_assert(found == (i % 10 != 9));
        if (!found)
            continue;
        ck_assert_uint_eq(line, 1 + (i * 7919) % 5000);
        ck_assert_uint_eq(file.size, i % 3 == 0 ? 6 : i % 3 == 1 ? 25 : 0);
    }
    unmake();
}
END_TEST

START_TEST(deterministic)
{
    make(true);
    uint8_t *first = bytes;
    size_t first_size = size;
    sp_function_table_free(&table);
    make(true);
    ck_assert_uint_eq(size, first_size);
    ck_assert_mem_eq(bytes, first, size);
    free(first);
    unmake();
}
END_TEST

START_TEST(name_is_cut)
{
    struct sp_map_view view;
    struct sp_map_function function;
    enum sp_miss miss;
    char name[8];
    make(false);
    ck_assert_ptr_null(sp_map_view_open(bytes, size, &view));
    ck_assert(sp_map_view_find(&view, table.functions[5].start, &function, &miss));
    ck_assert_uint_eq(sp_map_view_name(&view, &function, name, sizeof name), table.functions[5].name_length);
    ck_assert_uint_eq(strlen(name), 7);
    ck_assert_uint_eq(sp_map_view_name(&view, &function, NULL, 0), table.functions[5].name_length);
    unmake();
}
END_TEST

/* Sections of types that are not known are passed over. */
START_TEST(unknown_section)
{
    struct sp_map_view view;
    make(false);
    struct sp_map_section *sections = (struct sp_map_section *)(bytes + sizeof(struct sp_map_header));
    sections[0].type = 4711;
    ck_assert_ptr_null(sp_map_view_open(bytes, size, &view));
    ck_assert_uint_eq(view.build_id.size, 0);
    unmake();
}
END_TEST

/* Every truncation is refused, and no changed byte leads outside (the sanitizers and the fuzz target see to that). */
START_TEST(damage)
{
    struct sp_map_view view;
    make(true);
    for (size_t cut = 0; cut < size; cut += cut < 2000 ? 1 : 997)
        if (sp_map_view_open(bytes, cut, &view) == NULL)
            ck_abort_msg("cut at %zu it is taken", cut);
    for (size_t i = 0; i < 400; i++) {
        uint8_t kept = bytes[i];
        bytes[i] ^= 0x55;
        if (sp_map_view_open(bytes, size, &view) == NULL) {
            struct sp_map_function function;
            enum sp_miss miss;
            char name[64];
            for (uint64_t at = 0x400000; at < 0x480000; at += 977)
                if (sp_map_view_find(&view, at, &function, &miss))
                    sp_map_view_name(&view, &function, name, sizeof name);
        }
        bytes[i] = kept;
    }
    struct sp_map_header *header = (struct sp_map_header *)bytes;
    header->version = 2;
    ck_assert_str_eq(sp_map_view_open(bytes, size, &view), "its version is not known to this program");
    unmake();
}
END_TEST

Suite *map_suite(void)
{
    Suite *suite = suite_create("map");
    TCase *tests = tcase_create("view");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, same_as_table);
    tcase_add_test(tests, lines);
    tcase_add_test(tests, deterministic);
    tcase_add_test(tests, name_is_cut);
    tcase_add_test(tests, unknown_section);
    tcase_add_test(tests, damage);
    suite_add_tcase(suite, tests);
    return suite;
}
