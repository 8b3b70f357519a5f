/* SPDX-License-Identifier: MIT */
/* parts LIBRARY: the parts of the detector that keep something, each alone. LIBRARY: one to be loaded and closed. */
#include "leaks/error.h"
#include "leaks/maps.h"
#include "leaks/modules.h"
#include "leaks/options.h"
#include "leaks/record.h"
#include "leaks/slot.h"
#include "leaks/state.h"
#include "leaks/thread.h"
#include "leaks/trace.h"
#include "leaks/writer.h"

#include <check.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int32_t leaks_process_id;

static const char *library;

START_TEST(errors_at_each_place_once)
{
    const struct leaks_error first = {.type = LEAKS_DOUBLE_FREE, .here = 10, .allocated = 20, .freed = 30};
    struct leaks_error others[] = {first, first, first, first, first, first};
    others[0].here++;
    others[1].allocated++;
    others[2].freed++;
    others[3].type = LEAKS_MISMATCH;
    others[4].allocated_as = LEAKS_NEW;
    others[5].freed_as = LEAKS_NEW;
    leaks_error_add(&first);
    for (size_t i = 0; i < 6; i++)
        leaks_error_add(&others[i]);
    leaks_error_add(&first);
    leaks_error_add(&first);
    ck_assert_uint_eq(leaks_error_get(0)->count, 3);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_ptr_nonnull(leaks_error_get(i + 1));
        ck_assert_uint_eq(leaks_error_get(i + 1)->count, 1);
    }
    ck_assert_ptr_null(leaks_error_get(7));
    leaks_error_forget();
    ck_assert_ptr_null(leaks_error_get(0));
}
END_TEST

START_TEST(maps)
{
    const size_t page = 4096;
    struct leaks_maps now;
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    ck_assert_int_eq(mprotect(pages + 2 * page, page, PROT_READ), 0);
    munmap(pages + page, page);
    ck_assert(leaks_maps_read(&now));
    const struct leaks_mapping *first = leaks_maps_find(&now, (uintptr_t)pages + page - 1),
                               *last = leaks_maps_find(&now, (uintptr_t)pages + 2 * page);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(last);
    ck_assert(first->is_writable && first->is_readable && !first->is_executable);
    ck_assert(!last->is_writable && last->is_readable && !last->is_executable);
    ck_assert_ptr_null(leaks_maps_find(&now, (uintptr_t)pages + page));
    ck_assert_ptr_null(leaks_maps_find(&now, 0));
    ck_assert_ptr_null(leaks_maps_find(&now, UINTPTR_MAX));
    leaks_maps_free(&now);
}
END_TEST

static const struct leaks_known_module *newest(void)
{
    const struct leaks_known_module *known, *found = NULL;
    for (size_t i = 0; (known = leaks_modules_get(i)) != NULL; i++)
        if (strlen(library) == known->module.path_size && memcmp(known->path, library, strlen(library)) == 0)
            found = known;
    return found;
}

START_TEST(modules_and_closes)
{
    const struct leaks_known_module *known;
    size_t count = 0;
    leaks_process_id = (int32_t)getpid();
    leaks_modules_update();
    leaks_modules_update();
    for (; (known = leaks_modules_get(count)) != NULL; count++) {
        ck_assert(known->is_loaded);
        ck_assert_uint_eq(known->module.last_closes, UINT32_MAX);
    }
    ck_assert_uint_gt(count, 2);
    ck_assert_uint_eq(leaks_trace_closes(), 0);
    for (uint32_t closes = 0; closes < 3; closes++) {
        void *handle = dlopen(library, RTLD_NOW);
        ck_assert_ptr_nonnull(handle);
        leaks_modules_update();
        known = newest();
        ck_assert_ptr_nonnull(known);
        ck_assert(known->is_loaded);
        ck_assert_uint_eq(known->module.first_closes, closes);
        ck_assert_uint_eq(known->module.last_closes, UINT32_MAX);
        dlclose(handle);
        leaks_modules_update();
        ck_assert(!known->is_loaded);
        ck_assert_uint_eq(known->module.last_closes, closes);
        ck_assert_uint_eq(leaks_trace_closes(), closes + 1);
    }
    ck_assert(leaks_modules_get(0)->is_loaded);
}
END_TEST

/*
 * The same addresses before and after a module was closed are two stacks: they may be two functions'. The number of
 * closes is a part of the hash, so only where two hashes are the same is it compared. These are two such numbers: where
 * the first two assertions fail the hash is another, and others are to be found.
 */
START_TEST(stacks_before_and_after_a_close)
{
    enum { BEFORE = 1316816, AFTER = 2044282 };
    void *const pcs[] = {(void *)0x1060, (void *)0x2000};
    while (leaks_trace_closes() < BEFORE)
        leaks_trace_module_closed();
    const uint32_t first = leaks_trace_intern(pcs, 2, 0);
    while (leaks_trace_closes() < AFTER)
        leaks_trace_module_closed();
    const uint32_t second = leaks_trace_intern(pcs, 2, 0);
    ck_assert_uint_eq(leaks_trace_get(first)->hash, leaks_trace_get(second)->hash);
    ck_assert(second == first || leaks_trace_get(second)->next == first);
    ck_assert_uint_ne(first, second);
    ck_assert_uint_eq(leaks_trace_get(first)->closes, BEFORE);
    ck_assert_uint_eq(leaks_trace_get(second)->closes, AFTER);
    ck_assert_uint_eq(leaks_trace_intern(pcs, 2, 0), second);
}
END_TEST

START_TEST(options)
{
    leaks_options_read("frames=1000:dump=100000:dumps=99999:signal=1000:guard=7");
    ck_assert_uint_eq(leaks_options.frames, LEAKS_FRAMES_MAX);
    ck_assert_uint_eq(leaks_options.dump, LEAKS_DUMP_MAX);
    ck_assert_uint_eq(leaks_options.dumps, 1000);
    ck_assert_uint_eq(leaks_options.signal, 64);
    ck_assert_uint_eq(leaks_options.guard, 1);
    leaks_options_read("frames=0:sample=0:dump=3:dumps:scan=x:floor=99999999999999999999999");
    ck_assert_uint_eq(leaks_options.frames, 1);
    ck_assert_uint_eq(leaks_options.sample, 1);
    ck_assert_uint_eq(leaks_options.dump, 3);
    ck_assert_uint_eq(leaks_options.scan, 1);
    ck_assert_uint_eq(leaks_options.floor, 0);
}
END_TEST

/* What no block can have is looked for too: any word may be given to free. */
START_TEST(slots_of_no_block)
{
    const uintptr_t none[] = {(uintptr_t)1 << 47, UINT64_C(0xffff800000000010), UINTPTR_MAX - 15};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_ptr_null(leaks_slot_find(none[i]));
        ck_assert_ptr_null(leaks_slot_make(none[i]));
        ck_assert_ptr_null(leaks_leaf_make(none[i]));
    }
    ck_assert_ptr_null(leaks_slot_make(0x100008));
    ck_assert_ptr_nonnull(leaks_slot_make(0x100010));
    ck_assert_ptr_null(leaks_slot_find(0x100018));
    ck_assert_ptr_eq(leaks_slot_find(0x100010), leaks_slot_make(0x100010));
}
END_TEST

START_TEST(end_of_room)
{
    for (size_t size = 1; size < (size_t)1 << 26; size = size * 3 + 1) {
        void *block = malloc(size);
        uintptr_t address = (uintptr_t)block;
        ck_assert_uint_eq(leaks_chunk_end(address), address + malloc_usable_size(block));
        free(block);
    }
}
END_TEST

static void *record_and_end(void *unused)
{
    struct leaks_thread *thread = leaks_thread_take();
    ck_assert_ptr_nonnull(thread);
    leaks_thread_give_back(thread);
    return unused;
}

START_TEST(thread_states)
{
    leaks_thread_start();
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, record_and_end, NULL);
        pthread_join(thread, NULL);
    }
    ck_assert_ptr_nonnull(leaks_thread_first());
    ck_assert_ptr_null(leaks_thread_first()->next);
    /* A handler that allocates while its thread does. */
    struct leaks_thread *own = leaks_thread_take();
    ck_assert_ptr_nonnull(own);
    ck_assert_ptr_null(leaks_thread_take());
    leaks_thread_give_back(own);
    ck_assert_ptr_eq(leaks_thread_take(), own);
}
END_TEST

START_TEST(writer_opens_no_file_that_is_there)
{
    char folder[] = "/tmp/spwalk-leaks-parts.XXXXXX", other[64], new_path[64], path[4096];
    struct stat state;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(new_path, sizeof new_path, "%s/spwalk-77-3.new", folder);
    fclose(fopen(other, "w"));
    ck_assert_int_eq(symlink(other, new_path), 0);
    ck_assert(leaks_writer_open(folder, 77, 3));
    leaks_writer_put(LEAKS_ITEM_END, NULL, 0, "content", 7);
    ck_assert(leaks_writer_close(path));
    ck_assert_int_eq(lstat(path, &state), 0);
    ck_assert(S_ISREG(state.st_mode));
    ck_assert_uint_eq(state.st_mode & 0777, 0600);
    ck_assert_int_eq(stat(other, &state), 0);
    ck_assert_int_eq(state.st_size, 0);
    ck_assert_int_eq(access(new_path, F_OK), -1);
    unlink(path);
    unlink(other);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(int argc, char **argv)
{
    /* As /proc/self/maps has it. */
    library = argc > 1 ? realpath(argv[1], NULL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "usage: leaks-parts LIBRARY\n");
        return 2;
    }
    Suite *suite = suite_create("leaks/parts");
    TCase *cases = tcase_create("parts");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, errors_at_each_place_once);
    tcase_add_test(cases, maps);
    tcase_add_test(cases, modules_and_closes);
    tcase_add_test(cases, stacks_before_and_after_a_close);
    tcase_add_test(cases, options);
    tcase_add_test(cases, slots_of_no_block);
    tcase_add_test(cases, end_of_room);
    tcase_add_test(cases, thread_states);
    tcase_add_test(cases, writer_opens_no_file_that_is_there);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
