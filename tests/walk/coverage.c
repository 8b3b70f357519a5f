/* SPDX-License-Identifier: MIT */
/* The coverage of modules made up here, byte by byte against what their records say. */
#include "word/coverage.h"

#include "word/record.h"

#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    TEXT = 300 * 1024, /* several groups of granules, the last one short */
    NOTES_MOST = 8,
    RECORDS_MOST = 400, /* a note */
};

struct note {
    Elf64_Nhdr header;
    char name[8];
    struct sp_record records[RECORDS_MOST];
};

/* Laid out as a module is mapped: nothing of it is ever run. */
struct image {
    Elf64_Phdr phdr[1 + NOTES_MOST];
    struct note notes[NOTES_MOST];
    __attribute__((aligned(PAGE))) uint8_t text[TEXT];
};

static struct image image;
static struct sp_module module;
static unsigned notes;

/* What the records say, 8 bytes each. */
static bool expected[TEXT / 8];

static void begin(size_t text)
{
    memset(&image, 0, sizeof image);
    memset(expected, 0, sizeof expected);
    notes = 0;
    module = (struct sp_module){.lo = (uintptr_t)&image, .hi = (uintptr_t)(&image + 1), .phdr = image.phdr, .phnum = 1};
    module.bias = module.lo;
    image.phdr[0] =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = offsetof(struct image, text) + text};
}

static void begin_note(void)
{
    struct note *note = &image.notes[notes++];
    note->header = (Elf64_Nhdr){.n_namesz = sizeof SP_NOTE_OWNER, .n_type = SP_NOTE_FRAMES};
    memcpy(note->name, SP_NOTE_OWNER, sizeof SP_NOTE_OWNER);
    image.phdr[module.phnum++] = (Elf64_Phdr){.p_type = PT_NOTE,
                                              .p_flags = PF_R,
                                              .p_vaddr = (uintptr_t)note - module.lo,
                                              .p_memsz = offsetof(struct note, records),
                                              .p_align = 4};
}

static void put_record(int64_t start, uint32_t size)
{
    struct note *note = &image.notes[notes - 1];
    struct sp_record *record = &note->records[note->header.n_descsz / sizeof *record];
    record->start = (int32_t)((intptr_t)image.text + start - (intptr_t)&record->start);
    record->size = size;
    note->header.n_descsz += sizeof *record;
    image.phdr[notes].p_memsz += sizeof *record;
}

/* From the first whole 8 bytes on, and up to the last that the range has a part of. */
static void expect(size_t lo, size_t hi)
{
    for (size_t i = (lo + 7) / 8; i < (hi + 7) / 8; i++)
        expected[i] = true;
}

static uintptr_t text_span(void)
{
    return image.phdr[0].p_memsz;
}

/* Words, zero, that end where no more can be read; in place of those of the time before. */
static uint64_t *new_words(size_t count)
{
    enum { MOST = 4 * PAGE };
    static uint8_t *pages;
    if (pages == NULL) {
        pages = mmap(NULL, MOST + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(pages, MAP_FAILED);
        ck_assert_int_eq(mprotect(pages + MOST, PAGE, PROT_NONE), 0);
    }
    ck_assert_uint_le(count * 8, MOST);
    return memset(pages + MOST - count * 8, 0, count * 8);
}

static struct sp_coverage make(size_t *room)
{
    uintptr_t lo, span;
    ck_assert(sp_coverage_extents(&module, &lo, &span));
    ck_assert_uint_eq(lo, module.lo);
    ck_assert_uint_eq(span, (text_span() + 7) & ~UINT64_C(7));
    size_t most = sp_coverage_words(span);
    if (*room > most)
        *room = most;
    return sp_coverage_make(&module, lo, span, new_words(*room), *room);
}

static void expect_covered(const struct sp_coverage *coverage)
{
    uintptr_t text = (uintptr_t)image.text, end = module.lo + text_span();
    for (uintptr_t at = text; at < end; at += 8)
        for (unsigned byte = 0; byte < 8; byte += 7)
            if (sp_covered(coverage, at + byte) != expected[(at - text) / 8] ||
                sp_covered_unless_replaced(coverage, at + byte) != expected[(at - text) / 8])
                ck_abort_msg("%zu bytes into the text", (size_t)(at - text));
    const uintptr_t others[] = {text - 1, coverage->lo - 1, coverage->lo + coverage->span};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(!sp_covered(coverage, others[i]));
        ck_assert(!sp_covered_unless_replaced(coverage, others[i]));
    }
}

static void expect_all(void)
{
    size_t room = SIZE_MAX;
    struct sp_coverage coverage = make(&room);
    expect_covered(&coverage);
    /* The same in just the room that it needs, and not in less. */
    size_t least = 0, enough = room;
    while (least < enough) {
        room = (least + enough) / 2;
        coverage = make(&room);
        if (coverage.span != 0) {
            expect_covered(&coverage);
            enough = room;
        } else {
            least = room + 1;
        }
    }
}

/* One record, and what follows it, or nothing. */
START_TEST(ends)
{
    const size_t starts[] = {0, 1, 7, 8, 9, 504, 505, 511, 512, 513, 1024, 32768 - 8, 32768, 32768 + 520};
    const uint32_t sizes[] = {1, 7, 8, 9, 16, 503, 504, 511, 512, 513, 1023, 1024, 1025, 32768, 65536 + 24};
    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++) {
        for (unsigned j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            begin(TEXT - 5);
            begin_note();
            put_record((int64_t)starts[i], sizes[j]);
            expect(starts[i], starts[i] + sizes[j]);
            expect_all();
        }
    }
}
END_TEST

START_TEST(up_to_the_end_of_the_text)
{
    for (size_t text = TEXT - 1200; text <= TEXT; text += 37) {
        begin(text);
        begin_note();
        put_record(100, (uint32_t)text - 100);
        expect(100, text);
        expect_all();
    }
}
END_TEST

/* Parts of one granule, from one note and from another, in any order; at last all of it. */
START_TEST(granules_in_parts)
{
    static const unsigned orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    for (unsigned order = 0; order < 3; order++) {
        begin(TEXT);
        for (unsigned part = 0; part < 4; part++) {
            size_t at = 40 * 512 + orders[order][part] * 128;
            if (part % 2 == 0)
                begin_note();
            put_record((int64_t)at, 128);
            put_record((int64_t)at + 128, 0);
            expect(at, at + 128);
            expect_all();
        }
        /* In the order of addresses, as linkers lay notes out, it is seen that all of the granule is covered. */
        size_t room = SIZE_MAX, granule = (sizeof image - TEXT) / 512 + 40;
        struct sp_coverage coverage = make(&room);
        if (order == 0)
            ck_assert_uint_eq(coverage.whole[granule / 64] >> granule % 64 & 1, 1);
    }
}
END_TEST

/* However often a granule is come back to, all has room where as much room is as the span can need. */
START_TEST(parts_in_no_order)
{
    begin(TEXT);
    for (unsigned i = 0; i < NOTES_MOST * RECORDS_MOST / 2; i++) {
        if (i % (RECORDS_MOST / 2) == 0)
            begin_note();
        size_t at = (i % 2 != 0 ? 70 : 90 + i % 7) * 512 + i * 13 % 31 * 16;
        put_record((int64_t)at, 16);
        put_record(0, 0);
        expect(at, at + 16);
    }
    expect_all();
}
END_TEST

START_TEST(no_room)
{
    begin(TEXT);
    begin_note();
    put_record(8, TEXT - 16);
    for (size_t room = 0; room < 30; room++) {
        size_t given = room;
        ck_assert_uint_eq(make(&given).span, 0);
    }
}
END_TEST

/* What is no range of the module's own is none, and spoils no other. */
START_TEST(records_that_point_elsewhere)
{
    begin(TEXT - 4096);
    begin_note();
    put_record(64, 640);
    put_record(704, 0);
    put_record(TEXT + 4096, 100);
    put_record(0, 0);
    put_record(-(int64_t)sizeof image, 1000);
    put_record(0, 0);
    put_record(2048, UINT32_MAX);
    put_record(0, 0);
    put_record(4096, 5000);
    expect(64, 704);
    expect(4096, 9096);
    expect_all();
}
END_TEST

static size_t below(size_t limit)
{
    return (size_t)random() % limit;
}

static void put_random(unsigned seed)
{
    srandom(seed);
    begin(TEXT - below(3000));
    size_t end = text_span() - offsetof(struct image, text), most = 1 + below(4000), at = 0;
    bool is_sparse = below(3) == 0;
    for (unsigned note = 0; note < NOTES_MOST; note++) {
        begin_note();
        size_t run = at;
        for (unsigned i = 0; i < RECORDS_MOST / 2 - 1; i++) {
            size_t gap = is_sparse && below(8) == 0 ? below(40000) : below(20), size = 1 + below(most);
            bool is_break = below(is_sparse ? 2 : 10) == 0;
            if (at + gap + size > end)
                break;
            if (is_break) {
                put_record((int64_t)at, 0);
                expect(run, at);
                run = at + gap;
            } else if (i == 0) {
                run = at + gap;
            }
            put_record((int64_t)(at + gap), (uint32_t)size);
            at += gap + size;
        }
        expect(run, at);
    }
}

START_TEST(any)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        put_random(seed);
        expect_all();
    }
}
END_TEST

/* One who still has the old coverage reads it while another module's is written in its place: something, no further. */
START_TEST(bits_that_are_replaced)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        put_random(seed);
        size_t room = SIZE_MAX;
        struct sp_coverage old = make(&room);
        uint64_t *words = (uint64_t *)old.whole;
        const uint64_t end = (uint64_t)(words + room - old.parts);
        for (unsigned fill = 0; fill < 30; fill++) {
            for (size_t i = 0; i < room; i++)
                words[i] = fill == 0 ? ~UINT64_C(0) : (uint64_t)random() << 33 ^ (uint64_t)random();
            /* Blocks that there can be, up to the last words, and some beyond. */
            for (uintptr_t i = 0; fill > 1 && i <= old.span >> 15; i++)
                ((uint32_t *)old.parts)[i] = (uint32_t)(end + 20 - fill - i % 3);
            for (uintptr_t offset = 0; offset < old.span; offset += 8)
                (void)sp_covered_unless_replaced(&old, old.lo + offset);
        }
        memset(words, 0, room * sizeof *words);
        struct sp_coverage again = sp_coverage_make(&module, old.lo, old.span, words, room);
        expect_covered(&again);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("coverage");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, ends);
    tcase_add_test(tcase, up_to_the_end_of_the_text);
    tcase_add_test(tcase, granules_in_parts);
    tcase_add_test(tcase, parts_in_no_order);
    tcase_add_test(tcase, no_room);
    tcase_add_test(tcase, records_that_point_elsewhere);
    tcase_add_test(tcase, any);
    tcase_add_test(tcase, bits_that_are_replaced);
    Suite *suite = suite_create("which addresses are covered");
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
