/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>
#include <spwalk_symbols.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "frames.h"
#include "word/word.h"

struct job {
    const char *path;
    bool check;
    unsigned flags;

    struct sp_elf *file;
    struct sp_image image;
    struct sp_frame_records records;
    struct sp_symbolizer *symbolizer;
    struct sp_modules *modules;
    char *why;
};

static const char help[] =
    "usage: spwalk frames [OPTIONS] FILE\n"
    "\n"
    "Prints the frame records of an ELF file that was built with the plugin: for which addresses a frame word is\n"
    "promised, and what it says.\n"
    "\n"
    "  -c, --check       prove each record by the file's call frame information and code; print what is wrong or not\n"
    "                    provable, and a count. Exit status 1 where a word is wrong\n"
    "  -C, --demangle    C++ names as in the source\n"
    "      --help        this text\n";

static void print_name(struct job *job, uint64_t address)
{
    struct sp_symbol symbol;
    if (sp_symbolize(job->symbolizer, job->modules, address, 1, &symbol) == 1)
        printf("  %s+0x%" PRIx64, symbol.function, symbol.function_offset);
    putchar('\n');
}

static void print_records(struct job *job)
{
    puts("start               size    length  rbp  function");
    for (size_t i = 0; i < job->records.count; i++) {
        const struct sp_frame_record *record = &job->records.records[i];
        uint32_t slot = sp_word_rbp_slot(record->word);
        printf("0x%016" PRIx64 "  %-6" PRIu64 "  %-6" PRIu32 "  ", record->start, record->size,
               sp_word_length(record->word));
        printf(slot == 0 ? "-  " : "%-3" PRIu32, slot);
        print_name(job, record->start);
    }
}

static void print_finding(void *context, const struct sp_frame_record *record, uint64_t address, enum sp_proof proof,
                          const char *what)
{
    printf("%s: 0x%" PRIx64 ": %s (length %" PRIu32 ", rbp slot %" PRIu32 ")",
           proof == SP_WRONG ? "wrong" : "not proved", address, what, sp_word_length(record->word),
           sp_word_rbp_slot(record->word));
    print_name(context, address);
}

static int check_records(struct job *job)
{
    struct sp_frames_check check = {.image = &job->image};
    if (!sp_image_cfi(job->file, &job->image, &check.tables)) {
        sp_complain("%s: it has no call frame information to check by", job->path);
        return SP_EXIT_BAD_INPUT;
    }
    size_t wrong = 0;
    for (size_t i = 0; i < job->records.count; i++)
        wrong += !sp_frames_check_record(&check, &job->records.records[i], print_finding, job);
    printf("%zu records: %zu calls proved by CFI, %zu by code, %zu not provable, %zu wrong; %zu records wrong\n",
           job->records.count, check.proofs[SP_PROVED], check.proofs[SP_PROVED_BY_CODE], check.proofs[SP_NOT_PROVABLE],
           check.proofs[SP_WRONG], wrong);
    return wrong == 0 ? 0 : SP_EXIT_WRONG;
}

static int run(struct job *job)
{
    job->file = sp_elf_open(job->path, &job->why);
    if (job->file == NULL || sp_image_load(job->file, &job->image, &job->why) != 0 ||
        sp_frame_records_read(job->file, &job->image, &job->records, &job->why) != 0) {
        sp_complain("%s", job->why == NULL ? "out of memory" : job->why);
        return SP_EXIT_BAD_INPUT;
    }
    if (job->records.count == 0) {
        sp_complain("%s: it has no frame records; build it with the plugin", job->path);
        return SP_EXIT_BAD_INPUT;
    }
    job->symbolizer = sp_symbolizer_new(job->flags, NULL);
    job->modules = sp_modules_new();
    if (job->symbolizer == NULL || job->modules == NULL ||
        sp_modules_add(job->modules, &(struct sp_loaded_module){.path = job->path}) != 0) {
        sp_complain("%s: %m", job->path);
        return SP_EXIT_BAD_INPUT;
    }
    if (job->check)
        return check_records(job);
    print_records(job);
    return 0;
}

int sp_command_frames(int argc, char **argv)
{
    enum { OPTION_HELP = 256 };
    static const struct option options[] = {
        {"check", no_argument, NULL, 'c'},
        {"demangle", no_argument, NULL, 'C'},
        {"help", no_argument, NULL, OPTION_HELP},
        {0},
    };
    struct job job = {0};
    int option;
    while ((option = getopt_long(argc, argv, ":cC", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            job.check = true;
            break;
        case 'C':
            job.flags |= SP_DEMANGLE;
            break;
        case OPTION_HELP:
            fputs(help, stdout);
            return 0;
        default:
            return sp_bad_option(argv, option);
        }
    }
    if (optind + 1 != argc)
        return sp_bad_usage(optind == argc ? "no FILE" : "more than one FILE");
    job.path = argv[optind];
    int status = run(&job);
    sp_symbolizer_free(job.symbolizer);
    sp_modules_free(job.modules);
    free(job.records.records);
    sp_image_free(&job.image);
    sp_elf_close(job.file);
    free(job.why);
    return status;
}
