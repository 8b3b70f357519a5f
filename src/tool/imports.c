/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "imports_patterns.h"
#include "imports_profile.h"
#include "imports_run.h"
#include "output_file.h"
#include "preload.h"
#include "run.h"

enum form { FORM_TEXT, FORM_JSON, FORM_CSV };

struct job {
    struct imports_options options;
    enum form form;
    bool functions;
    uint64_t start_up; /* nanoseconds after the entry into main */
    const char *output, *symbol_lists;
    struct imports_patterns patterns;
};

static const char help[] =
    "usage: spwalk imports [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a program and tells how often it called each shared library, and which could be loaded lazily.\n"
    "\n"
    "  -a, --all                 the calls of every object, not the main program's alone\n"
    "  -f, --from=PATTERN        the calls of objects that match (file name, path or soname, as fnmatch(3)); may be\n"
    "                            given more than once\n"
    "  -t, --to=PATTERN          calls into libraries that match alone; may be given more than once\n"
    "  -F, --functions           each function too\n"
    "      --follow              programs that it executes are counted too\n"
    "      --start-up=MS         what is called up to MS milliseconds after main was entered counts as start-up (0)\n"
    "  -s, --symbol-lists=FOLDER for each library that could be loaded lazily, write FOLDER/SONAME.symbols: the\n"
    "                            imported functions, one a line, for a generator of lazy-loading stubs\n"
    "      --format=FORM         text, json or csv (text)\n"
    "  -o, --output=FILE         the report goes there, not to standard error\n"
    "      --help                this text\n";

enum { OPTION_FOLLOW = 256, OPTION_START_UP, OPTION_FORMAT, OPTION_HELP };

static const struct option long_options[] = {
    {"all", no_argument, NULL, 'a'},
    {"from", required_argument, NULL, 'f'},
    {"to", required_argument, NULL, 't'},
    {"functions", no_argument, NULL, 'F'},
    {"follow", no_argument, NULL, OPTION_FOLLOW},
    {"start-up", required_argument, NULL, OPTION_START_UP},
    {"symbol-lists", required_argument, NULL, 's'},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static int add_pattern(struct job *job, const char *option, char *patterns, const char *pattern)
{
    size_t used = strlen(patterns), size = strlen(pattern);
    if (!size || strchr(pattern, '\n'))
        return sp_bad_usage("'%s' is not a pattern", pattern);
    if (used + size + 2 > IMPORTS_PATTERNS_MAX)
        return sp_bad_usage("more than %d bytes of patterns", IMPORTS_PATTERNS_MAX);
    memcpy(patterns + used, pattern, size);
    memcpy(patterns + used + size, "\n", 2);
    imports_patterns_add(&job->patterns, option, pattern);
    return 0;
}

static int set_form(struct job *job, const char *name)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            job->form = (enum form)i;
            return 0;
        }
    return sp_bad_usage("'%s' is not a format: text, json or csv", name);
}

static int set_start_up(struct job *job, const char *text)
{
    char *end;
    double milliseconds = strtod(text, &end);
    if (end == text || *end || !(milliseconds >= 0 && milliseconds < 1e9))
        return sp_bad_usage("'%s' is not a number of milliseconds", text);
    job->start_up = (uint64_t)(milliseconds * 1e6);
    return 0;
}

/* Returns -1 to go on, else the exit status. */
static int parse(struct job *job, int argc, char **argv)
{
    int status = 0, option;
    while (status == 0 && (option = getopt_long(argc, argv, "+:af:t:Fs:o:", long_options, NULL)) != -1) {
        switch (option) {
        case 'a':
            job->options.all = 1;
            break;
        case 'f':
            status = add_pattern(job, "--from", job->options.from, optarg);
            break;
        case 't':
            status = add_pattern(job, "--to", job->options.to, optarg);
            break;
        case 'F':
            job->functions = true;
            break;
        case 's':
            job->symbol_lists = optarg;
            break;
        case 'o':
            job->output = optarg;
            break;
        case OPTION_FOLLOW:
            job->options.follow = 1;
            break;
        case OPTION_START_UP:
            status = set_start_up(job, optarg);
            break;
        case OPTION_FORMAT:
            status = set_form(job, optarg);
            break;
        case OPTION_HELP:
            fputs(help, stdout);
            return 0;
        default:
            return sp_bad_option(argv, option);
        }
    }
    if (status == 0 && optind == argc)
        status = sp_bad_usage("no PROGRAM");
    return status ? status : -1;
}

static int is_report(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".report") == 0;
}

static int read_reports(const char *folder, bool all, struct imports_profiles *profiles,
                        struct imports_patterns *patterns)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, is_report, NULL), result = found < 0 ? -1 : 0;
    for (int i = 0; i < found; i++) {
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (result == 0)
            result = imports_profile_add(profiles, path, all, patterns);
        free(entries[i]);
    }
    if (found >= 0)
        free(entries);
    return result;
}

static int by_start(const void *left, const void *right)
{
    const struct imports_profile *a = left, *b = right;
    return (a->start_time > b->start_time) - (a->start_time < b->start_time);
}

static int show(const struct job *job, struct imports_profiles *profiles, FILE *out)
{
    if (job->form == FORM_JSON)
        return imports_show_json(out, profiles, job->functions);
    if (job->form == FORM_CSV)
        imports_show_csv(out, profiles, job->functions);
    for (size_t i = 0; i < profiles->count && job->form == FORM_TEXT; i++) {
        fputs(i ? "\n" : "", out);
        imports_show_text(out, &profiles->items[i], job->functions);
    }
    return 0;
}

/* The report is made in memory: a file of it is whole or is not there. */
static int write_report(const struct job *job, struct imports_profiles *profiles)
{
    char *text = NULL, *why = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int result = out ? show(job, profiles, out) : -1;
    if (out && (ferror(out) || fclose(out) != 0))
        result = -1;
    if (result != 0)
        sp_complain("cannot make the report: out of memory");
    else if (job->output)
        result = sp_output_file_write(job->output, text, size, &why);
    else if (fwrite(text, 1, size, stderr) != size || fflush(stderr) != 0)
        result = -1; /* there is no other place to say so */
    if (why)
        sp_complain("%s", why);
    free(why);
    free(text);
    return result;
}

static int report(const struct job *job, struct imports_profiles *profiles)
{
    if (profiles->count > 1)
        qsort(profiles->items, profiles->count, sizeof *profiles->items, by_start);
    for (size_t i = 0; i < profiles->count; i++)
        imports_profile_judge(&profiles->items[i], job->start_up);
    int result = write_report(job, profiles);
    for (size_t i = 0; i < profiles->count && job->symbol_lists && result == 0; i++)
        result = imports_write_symbol_lists(&profiles->items[i], job->symbol_lists);
    return result;
}

static int count(struct job *job, const char *program, const char *library, char **arguments)
{
    struct imports_run run;
    struct imports_profiles profiles = {0};
    if (imports_run(program, arguments, library, &job->options, &run) != 0)
        return SP_EXIT_BAD_INPUT;
    bool all = job->options.all || *job->options.from;
    int result = read_reports(run.folder, all, &profiles, &job->patterns);
    if (result == 0 && profiles.count == 0) {
        sp_complain("%s: it ran, but nothing was counted: libspwalk-imports.so was not loaded into it, or could not "
                    "make and map its file in %s",
                    program, run.folder);
        result = -1;
    }
    sp_run_folder_remove(run.folder);
    if (result == 0)
        result = report(job, &profiles);
    if (result == 0)
        imports_patterns_complain(&job->patterns, all);
    imports_profiles_free(&profiles);
    return result == 0 ? sp_run_end_as(run.status) : SP_EXIT_BAD_INPUT;
}

/* What would only be found out after the program has run. */
static int check_outputs(const struct job *job)
{
    struct stat folder;
    struct rlimit limit;
    char *why = NULL;
    if (job->output && sp_output_file_check(job->output, &why) != 0) {
        sp_complain("%s", why);
        free(why);
        return -1;
    }
    if (job->symbol_lists && (stat(job->symbol_lists, &folder) != 0 || !S_ISDIR(folder.st_mode) ||
                              access(job->symbol_lists, W_OK | X_OK) != 0)) {
        sp_complain("%s: not a folder to write symbol lists to", job->symbol_lists);
        return -1;
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < IMPORTS_FILE_SIZE_MAX) {
        sp_complain(
            "the limit on the size of files (ulimit -f) is below %llu MiB, which a sparse file of counts may need",
            (unsigned long long)(IMPORTS_FILE_SIZE_MAX >> 20));
        return -1;
    }
    return 0;
}

int sp_command_imports(int argc, char **argv)
{
    static struct job job = {.options.magic = IMPORTS_MAGIC};
    int status = parse(&job, argc, argv);
    if (status >= 0) {
        imports_patterns_free(&job.patterns);
        return status;
    }
    char *program = check_outputs(&job) == 0 ? sp_preload_program(argv[optind]) : NULL;
    char *library = program ? sp_preload_find("imports") : NULL;
    status = library ? count(&job, program, library, argv + optind) : SP_EXIT_BAD_INPUT;
    imports_patterns_free(&job.patterns);
    free(program);
    free(library);
    return status;
}
