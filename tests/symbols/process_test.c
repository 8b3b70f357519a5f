/* SPDX-License-Identifier: MIT */
#include "suites.h"

#include <dlfcn.h>
#include <errno.h>
#include <spwalk_symbols.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static __attribute__((noinline)) int static_function(int x)
{
    __asm__ volatile("" ::: "memory");
    return x + 1;
}

static struct sp_symbolizer *symbolizer;

static void open_symbolizer(void)
{
    symbolizer = sp_symbolizer_new(SP_LINES | SP_DEMANGLE, NULL);
    ck_assert_ptr_nonnull(symbolizer);
}

static void close_symbolizer(void)
{
    sp_symbolizer_free(symbolizer);
}

START_TEST(own_static_function)
{
    struct sp_symbol symbol;
    uintptr_t pc = (uintptr_t)static_function + 2;
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, pc, 1, &symbol), 1);
    ck_assert_str_eq(symbol.function, "static_function");
    ck_assert_uint_eq(symbol.function_offset, 2);
    ck_assert_int_eq(symbol.source, SP_SOURCE_SYMTAB);
    ck_assert_int_eq(symbol.miss, SP_MISS_NONE);
    ck_assert_uint_eq(symbol.location_count, 1);
    ck_assert_ptr_nonnull(strstr(symbol.locations[0].file, "process_test.c"));
    ck_assert_uint_gt(symbol.locations[0].line, 10);
    ck_assert_ptr_null(symbol.note);
    ck_assert(!symbol.damaged);
    ck_assert_uint_gt(symbol.build_id_size, 0);
    (void)static_function(1);
}
END_TEST

/* A return address belongs to the function with the call, at pc - 1; an interrupted pc is itself. */
START_TEST(pc_and_return_address)
{
    struct sp_symbol symbol;
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, (uintptr_t)static_function, 1, &symbol), 1);
    ck_assert_str_eq(symbol.function, "static_function");
    int found = sp_symbolize(symbolizer, NULL, (uintptr_t)static_function, 0, &symbol);
    ck_assert(!found || strcmp(symbol.function, "static_function") != 0);
    if (!found)
        ck_assert_int_eq(symbol.miss, SP_MISS_GAP);
}
END_TEST

START_TEST(misses)
{
    struct sp_symbol symbol;
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, 0, 0, &symbol), 0);
    ck_assert_int_eq(symbol.miss, SP_MISS_NO_MODULE);
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, (uintptr_t)&symbol, 1, &symbol), 0);
    ck_assert_int_eq(symbol.miss, SP_MISS_NO_MODULE);
    ck_assert_ptr_null(symbol.module);
    const struct sp_loaded_module *self;
    struct sp_modules *modules = sp_modules_now();
    for (size_t i = 0; (self = sp_modules_get(modules, i)) != NULL; i++)
        if ((uintptr_t)static_function - self->start < self->end - self->start)
            break;
    ck_assert_ptr_nonnull(self);
    ck_assert_int_eq(sp_symbolize(symbolizer, modules, self->start, 1, &symbol), 0);
    ck_assert_int_eq(symbol.miss, SP_MISS_BEFORE_FIRST);
    ck_assert_int_eq(sp_symbolize(symbolizer, modules, self->end - 1, 1, &symbol), 0);
    ck_assert_int_eq(symbol.miss, SP_MISS_AFTER_LAST);
    ck_assert_str_eq(symbol.module, self->path);
    ck_assert_int_eq(sp_symbolize(NULL, NULL, 1, 1, &symbol), -1);
    ck_assert_int_eq(errno, EINVAL);
    sp_modules_free(modules);
}
END_TEST

START_TEST(vdso)
{
    struct sp_symbol symbol;
    uintptr_t image = getauxval(AT_SYSINFO_EHDR);
    if (image == 0)
        return; /* a kernel without one */
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, image, 1, &symbol), 0);
    ck_assert_ptr_nonnull(symbol.module);
    ck_assert_int_eq(symbol.miss, SP_MISS_NO_SYMBOLS);
}
END_TEST

/* A library is noticed as it comes, and named by a snapshot after it has gone. */
START_TEST(load_and_unload)
{
    struct sp_symbol symbol;
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, (uintptr_t)static_function, 1, &symbol), 1);
    void *library = dlopen(getenv("SPWALK_TEST_MODULE"), RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    void *(*address)(void);
    *(void **)&address = dlsym(library, "module_hidden_address");
    uintptr_t pc = (uintptr_t)address();
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, pc, 1, &symbol), 1);
    ck_assert_str_eq(symbol.function, "hidden_function");
    const char *kept = symbol.function;
    struct sp_modules *modules = sp_modules_now();
    dlclose(library);
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, pc, 1, &symbol), 0);
    ck_assert_int_eq(symbol.miss, SP_MISS_NO_MODULE);
    ck_assert_int_eq(sp_symbolize(symbolizer, modules, pc, 1, &symbol), 1);
    ck_assert_str_eq(symbol.function, "hidden_function");
    ck_assert_str_eq(kept, "hidden_function");
    sp_modules_free(modules);
}
END_TEST

START_TEST(wrong_build_id)
{
    struct sp_symbol symbol;
    struct sp_modules *modules = sp_modules_new();
    struct sp_loaded_module module = {
        .path = getenv("SPWALK_TEST_MODULE"), .build_id = (const uint8_t *)"not this one", .build_id_size = 12};
    ck_assert_int_eq(sp_modules_add(modules, &module), 0);
    ck_assert_int_eq(sp_symbolize(symbolizer, modules, sp_modules_get(modules, 0)->start + 0x1100, 1, &symbol), 0);
    ck_assert_int_eq(symbol.miss, SP_MISS_UNREADABLE);
    ck_assert(symbol.damaged);
    ck_assert_ptr_nonnull(strstr(symbol.note, "refused: its build-id is"));
    sp_modules_free(modules);
}
END_TEST

START_TEST(lists)
{
    struct sp_modules *modules = sp_modules_new();
    struct sp_loaded_module module = {.path = "/x", .start = 100, .end = 200};
    ck_assert_int_eq(sp_modules_add(modules, &module), 0);
    module.start = 150;
    module.end = 250;
    ck_assert_int_eq(sp_modules_add(modules, &module), -1);
    ck_assert_int_eq(errno, EINVAL);
    module.start = 200;
    ck_assert_int_eq(sp_modules_add(modules, &module), 0);
    module = (struct sp_loaded_module){.path = "/x", .start = 50, .end = 100};
    ck_assert_int_eq(sp_modules_add(modules, &module), 0);
    module = (struct sp_loaded_module){.path = "/etc/passwd"};
    ck_assert_int_eq(sp_modules_add(modules, &module), -1);
    ck_assert_int_eq(errno, ENOEXEC);
    module = (struct sp_loaded_module){.path = "/nowhere/at/all"};
    ck_assert_int_eq(sp_modules_add(modules, &module), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_uint_eq(sp_modules_count(modules), 3);
    ck_assert_uint_eq(sp_modules_get(modules, 0)->start, 50);
    ck_assert_ptr_null(sp_modules_get(modules, 3));
    sp_modules_free(modules);
    sp_modules_free(NULL);
    sp_symbolizer_free(NULL);
}
END_TEST

START_TEST(bad_arguments)
{
    static const uint8_t id[65];
    struct sp_modules *modules = sp_modules_new();
    struct sp_loaded_module module = {
        .path = "/x", .start = 100, .end = 200, .build_id = id, .build_id_size = sizeof id};
    struct sp_symbol symbol;
    const char *why = NULL;
    int fd = dup(1);
    void *pcs[1] = {NULL};
    ck_assert_int_eq(sp_modules_add(modules, &module), -1);
    ck_assert_int_eq(errno, EINVAL);
    errno = 0;
    module = (struct sp_loaded_module){.path = NULL, .start = 100, .end = 200};
    ck_assert_int_eq(sp_modules_add(modules, &module), -1);
    module = (struct sp_loaded_module){.path = "/x", .start = 200, .end = 100};
    ck_assert_int_eq(sp_modules_add(modules, &module), -1);
    /* A bias by which a module would wrap. */
    module = (struct sp_loaded_module){.path = getenv("SPWALK_TEST_MODULE"), .bias = UINTPTR_MAX - 100};
    ck_assert_int_eq(sp_modules_add(modules, &module), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(sp_modules_add(modules, NULL), -1);
    ck_assert_int_eq(sp_modules_add(NULL, &module), -1);
    ck_assert_uint_eq(sp_modules_count(modules), 0);
    ck_assert_uint_eq(sp_modules_count(NULL), 0);
    ck_assert_ptr_null(sp_modules_get(NULL, 0));
    ck_assert_int_eq(sp_symbolize(symbolizer, modules, 100, 1, &symbol), 0);
    ck_assert_int_eq(symbol.miss, SP_MISS_NO_MODULE);
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, 1, 1, NULL), -1);
    ck_assert_int_eq(sp_symbolize(symbolizer, NULL, UINTPTR_MAX, 0, &symbol), 0);
    ck_assert_int_eq(sp_map_load(NULL, NULL, &why), -1);
    ck_assert_ptr_nonnull(why);
    ck_assert_int_eq(sp_map_load("/", NULL, NULL), -1);
    ck_assert_ptr_null(sp_backtrace_symbols(NULL, 1));
    ck_assert_ptr_null(sp_backtrace_symbols(pcs, -1));
    char **none = sp_backtrace_symbols(NULL, 0);
    ck_assert_ptr_nonnull(none);
    free(none);
    sp_backtrace_symbols_fd(NULL, 1, fd);
    sp_backtrace_symbols_fd(pcs, -1, fd);
    sp_backtrace_symbols_fd(pcs, 1, -1);
    ck_assert_str_eq(sp_miss_name((enum sp_miss)99), "unknown");
    ck_assert_str_eq(sp_source_name((enum sp_source) - 1), "unknown");
    close(fd);
    sp_modules_free(modules);
}
END_TEST

Suite *process_suite(void)
{
    Suite *suite = suite_create("process");
    TCase *tests = tcase_create("symbolize");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, open_symbolizer, close_symbolizer);
    tcase_add_test(tests, own_static_function);
    tcase_add_test(tests, pc_and_return_address);
    tcase_add_test(tests, misses);
    tcase_add_test(tests, vdso);
    tcase_add_test(tests, load_and_unload);
    tcase_add_test(tests, wrong_build_id);
    tcase_add_test(tests, lists);
    tcase_add_test(tests, bad_arguments);
    suite_add_tcase(suite, tests);
    return suite;
}
