/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#include "tool/link_map.h"

static const char gnu[] = "Archive member included to satisfy reference by file (symbol)\n\n"
                          "liba.a(one.o)                 main.o (one)\n\n"
                          "Discarded input sections\n\n"
                          " .text.gone     0x0000000000000000       0x10 main.o\n\n"
                          "Memory Configuration\n\n"
                          "Name             Origin             Length             Attributes\n"
                          "*default*        0x0000000000000000 0xffffffffffffffff\n\n"
                          "Linker script and memory map\n\n"
                          "LOAD main.o\n"
                          "                [!provide]                        PROVIDE (__executable_start = 0x400000)\n"
                          "                0x0000000000400318                . = (0x400000 + SIZEOF_HEADERS)\n\n"
                          ".text           0xffffffff81001000      0x200\n"
                          " *(.text.unlikely .text.*_unlikely .text.unlikely.*)\n"
                          " .text          0xffffffff81001000       0x40 main.o\n"
                          "                0xffffffff81001000                main\n"
                          "                0xffffffff81001020                shapes::area(int, char const*)\n"
                          " *fill*         0xffffffff81001040       0x10 \n"
                          " .text.a_static_function_of_a_long_name\n"
                          "                0xffffffff81001050       0x20 liba.a(one.o)\n"
                          " .text.one      0xffffffff81001070       0x10 liba.a(one.o)\n"
                          "                0xffffffff81001070                one\n"
                          "                0xffffffff81001080                . = ALIGN (0x10)\n"
                          "                0xffffffff81001080                PROVIDE (etext = .)\n"
                          " .text.unlikely\n"
                          "                0xffffffff81001090        0x0 main.o\n\n"
                          ".data           0xffffffff82000000       0x10\n"
                          " .data          0xffffffff82000000       0x10 main.o\n"
                          "                0xffffffff82000000                a_variable\n"
                          "OUTPUT(a.out elf64-x86-64)\n";

static struct sp_link_map map;
static struct sp_function_table table;

static const char *name_at(uint64_t address)
{
    const struct sp_candidate *function = sp_function_table_find(&table, address);
    return function == NULL ? "" : function->name;
}

static void read_map(const char *text)
{
    char *why = NULL;
    ck_assert_msg(sp_link_map_read(text, strlen(text), "x.map", &map, &why) == 0, "%s", why);
    ck_assert_int_eq(sp_function_table_build(map.entries, map.count, &table), 0);
}

static void drop_map(void)
{
    sp_function_table_free(&table);
    sp_link_map_free(&map);
}

START_TEST(gnu_map)
{
    read_map(gnu);
    ck_assert_str_eq(name_at(0xffffffff81000fff), "");
    ck_assert_str_eq(name_at(0xffffffff81001000), "main");
    ck_assert_str_eq(name_at(0xffffffff8100101f), "main");
    ck_assert_str_eq(name_at(0xffffffff8100103f), "shapes::area(int, char const*)");
    ck_assert_str_eq(name_at(0xffffffff81001040), "");
    ck_assert_str_eq(name_at(0xffffffff81001050), "a_static_function_of_a_long_name");
    ck_assert_str_eq(name_at(0xffffffff8100107f), "one");
    ck_assert_str_eq(name_at(0xffffffff81001080), "");
    ck_assert_str_eq(name_at(0xffffffff82000000), "");
    ck_assert_uint_eq(table.count, 4);
    drop_map();
}
END_TEST

START_TEST(lld_map)
{
    read_map("             VMA              LMA     Size Align Out     In      Symbol\n"
             "          2002a8           2002a8       1c     1 .interp\n"
             "          201120           201120       5d    16 .text\n"
             "          201120           201120       2a     1         main.o:(.text)\n"
             "          201120           201120       20     1                 main\n"
             "          201140           201140        0     1                 label\n"
             "          202000           202000        8     8 .data\n"
             "          202000           202000        8     8         main.o:(.data)\n"
             "          202000           202000        8     1                 variable\n");
    ck_assert_str_eq(name_at(0x201120), "main");
    ck_assert_str_eq(name_at(0x20113f), "main");
    ck_assert_str_eq(name_at(0x201149), "label");
    ck_assert_str_eq(name_at(0x20114a), "");
    ck_assert_str_eq(name_at(0x202000), "");
    drop_map();
}
END_TEST

static const struct {
    const char *text, *why;
} bad[] = {
    {"no map at all\n", "x.map: neither an ELF file nor a linker's map file"},
    {"", "x.map: neither an ELF file nor a linker's map file"},
    {"Linker script and memory map\n.data 0x10 0x10\n", "x.map: the map file lists no functions"},
    {"\nLinker script and memory map\n.text 0x12345678901234567 0x10\n", "x.map:3: a number of more than 64 bits"},
    {"Linker script and memory map\n.text 0xffffffffffffffff 0x10\n", "x.map:2: a section ends past the last address"},
    {" VMA  LMA  Size Align Out In Symbol\n nonsense\n", "x.map:2: not a line of lld's map file"},
};

START_TEST(bad_maps)
{
    char *why = NULL;
    ck_assert_int_eq(sp_link_map_read(bad[_i].text, strlen(bad[_i].text), "x.map", &map, &why), -1);
    ck_assert_str_eq(why, bad[_i].why);
    free(why);
}
END_TEST

Suite *link_map_suite(void)
{
    Suite *suite = suite_create("link map");
    TCase *tests = tcase_create("read");
    tcase_add_test(tests, gnu_map);
    tcase_add_test(tests, lld_map);
    tcase_add_loop_test(tests, bad_maps, 0, sizeof bad / sizeof bad[0]);
    suite_add_tcase(suite, tests);
    return suite;
}
