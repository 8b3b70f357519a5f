/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "leaks_profile.h"
#include "leaks_run.h"
#include "leaks_self_test.h"
#include "preload.h"
#include "run.h"

enum form { FORM_TEXT, FORM_JSON, FORM_FOLDED, FORM_FOLDED_BLOCKS };

struct job {
    char *options; /* for the preloaded part: NAME=VALUE, separated by ':' */
    enum form form;
    uint32_t shown;   /* a bit an enum leaks_class */
    int error_status; /* -1: the program's own */
    const char *output;
    char *output_kept; /* to be freed */
    bool is_comparing, is_printing, is_testing, is_leaking;
    struct leaks_suppressions suppressions;
    /* While it runs. */
    FILE *out;
    int32_t out_process; /* whose file it is, where the name has %p */
    bool has_json;       /* the document is begun */
    int32_t first_process;
    bool has_end; /* the program, not a child of it, has reported at its end */
    size_t reports_seen, wrong;
    bool has_failed;
};

static const char help[] =
    "usage: spwalk leaks [OPTIONS] -- PROGRAM [ARGUMENTS]\n"
    "       spwalk leaks --compare BEFORE.json AFTER.json\n"
    "       spwalk leaks --self-test\n"
    "\n"
    "Runs a program and reports each block that it did not free, with the call stack of its allocation.\n"
    "\n"
    "  -s, --show=CLASSES        definite, indirect, reachable, separated by commas, or all (definite,indirect)\n"
    "      --no-scan             do not tell lost from reachable blocks; all that are held are shown\n"
    "  -e, --error-exitcode=N    exit with N where blocks are lost or an error was found\n"
    "  -S, --suppressions=FILE   leave out stacks that match a line \"leak:PATTERN\" of the file\n"
    "      --format=FORM         text, json, folded (bytes a stack, for flame graphs) or folded-blocks (text)\n"
    "  -o, --output=FILE         the report goes there, not to standard error; %p is the process's number\n"
    "  -f, --frames=N            keep at most N frames of a stack (64; at most 256)\n"
    "  -d, --dump=N              show N bytes of a block's content (64)\n"
    "      --dumps=N             of N blocks of each stack (1)\n"
    "      --min-size=N          record no block smaller than N bytes\n"
    "      --sample=N            record one block in N\n"
    "      --start-disabled      record nothing until the program calls sp_leaks_enable_all, or sp_leaks_enable\n"
    "                            for the thread that calls it\n"
    "      --free-stacks         keep the stacks of calls that free too, for double frees\n"
    "      --no-guard            no guard word after each block\n"
    "      --signal=N            report what is held when signal N comes; 0: none (12, SIGUSR2)\n"
    "      --keep-libc           do not let the C library free its own caches at the end\n"
    "      --follow              programs that it executes too\n"
    "      --compare             tell what the second JSON report has more than the first; exit status 1 where it has\n"
    "      --self-test           leak on purpose, and check that the report is right\n"
    "      --help                this text\n";

enum {
    OPTION_NO_SCAN = 256,
    OPTION_FORMAT,
    OPTION_DUMPS,
    OPTION_MIN_SIZE,
    OPTION_SAMPLE,
    OPTION_DISABLED,
    OPTION_FREE_STACKS,
    OPTION_NO_GUARD,
    OPTION_SIGNAL,
    OPTION_KEEP_LIBC,
    OPTION_FOLLOW,
    OPTION_COMPARE,
    OPTION_PRINT,
    OPTION_SELF_TEST,
    OPTION_LEAK,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"show", required_argument, NULL, 's'},
    {"no-scan", no_argument, NULL, OPTION_NO_SCAN},
    {"error-exitcode", required_argument, NULL, 'e'},
    {"suppressions", required_argument, NULL, 'S'},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"output", required_argument, NULL, 'o'},
    {"frames", required_argument, NULL, 'f'},
    {"dump", required_argument, NULL, 'd'},
    {"dumps", required_argument, NULL, OPTION_DUMPS},
    {"min-size", required_argument, NULL, OPTION_MIN_SIZE},
    {"sample", required_argument, NULL, OPTION_SAMPLE},
    {"start-disabled", no_argument, NULL, OPTION_DISABLED},
    {"free-stacks", no_argument, NULL, OPTION_FREE_STACKS},
    {"no-guard", no_argument, NULL, OPTION_NO_GUARD},
    {"signal", required_argument, NULL, OPTION_SIGNAL},
    {"keep-libc", no_argument, NULL, OPTION_KEEP_LIBC},
    {"follow", no_argument, NULL, OPTION_FOLLOW},
    {"compare", no_argument, NULL, OPTION_COMPARE},
    {"print", no_argument, NULL, OPTION_PRINT},
    {"self-test", no_argument, NULL, OPTION_SELF_TEST},
    {&LEAKS_SELF_TEST_OPTION[2], no_argument, NULL, OPTION_LEAK},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static int set(struct job *job, const char *name, const char *value)
{
    char *options = NULL;
    if (asprintf(&options, "%s%s%s=%s", job->options ? job->options : "", job->options && *job->options ? ":" : "",
                 name, value) < 0) {
        sp_complain("out of memory");
        return SP_EXIT_BAD_INPUT;
    }
    free(job->options);
    job->options = options;
    return 0;
}

static bool read_number(const char *text, unsigned long long least, unsigned long long most, unsigned long long *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *number >= least && *number <= most;
}

/* What of SPWALK_LEAKS is a number; some are options, too. */
struct number {
    const char *name;
    unsigned long long least, most;
};

/* NULL where there is no number of that name. */
static const struct number *find_number(const char *name, size_t length)
{
    static const struct number numbers[] = {{"frames", 1, 256},    {"disabled", 0, 1},       {"guard", 0, 1},
                                            {"free_stacks", 0, 1}, {"scan", 0, 1},           {"dump", 0, 4096},
                                            {"dumps", 0, 1000},    {"signal", 0, 64},        {"follow", 0, 1},
                                            {"release", 0, 1},     {"floor", 0, 1ull << 47}, {"sample", 1, 1ull << 47}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strlen(numbers[i].name) == length && memcmp(numbers[i].name, name, length) == 0)
            return &numbers[i];
    return NULL;
}

static int set_number(struct job *job, const char *name, const char *text)
{
    const struct number *number = find_number(name, strlen(name));
    unsigned long long value;
    if (!read_number(text, number->least, number->most, &value))
        return sp_bad_usage("'%s' is not a number from %llu to %llu", text, number->least, number->most);
    return set(job, name, text);
}

static int set_shown(struct job *job, const char *text)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } names[] = {{"definite", 1u << LEAKS_DEFINITE},
                 {"indirect", 1u << LEAKS_INDIRECT},
                 {"reachable", 1u << LEAKS_REACHABLE},
                 {"all", 1u << LEAKS_DEFINITE | 1u << LEAKS_INDIRECT | 1u << LEAKS_REACHABLE}};
    job->shown = 0;
    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, ","), i = 0;
        while (i < 4 && (strlen(names[i].name) != length || strncmp(names[i].name, word, length) != 0))
            i++;
        if (i == 4)
            return sp_bad_usage("'%.*s' is not a class of blocks: definite, indirect, reachable or all", (int)length,
                                word);
        job->shown |= names[i].bits;
        word += length + (word[length] == ',');
    }
    return job->shown ? 0 : sp_bad_usage("--show needs a class of blocks: definite, indirect, reachable or all");
}

static int set_form(struct job *job, const char *name)
{
    static const char *const names[] = {"text", "json", "folded", "folded-blocks"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            job->form = (enum form)i;
            return 0;
        }
    return sp_bad_usage("'%s' is not a format: text, json, folded or folded-blocks", name);
}

static int set_error_status(struct job *job, const char *text)
{
    unsigned long long number;
    if (!read_number(text, 0, 255, &number))
        return sp_bad_usage("'%s' is not an exit status", text);
    job->error_status = (int)number;
    return 0;
}

static bool is_for_report(unsigned long long number)
{
    /* 32 and 33 are the C library's, 61 stops threads for the search. */
    return number <= 64 && number != SIGKILL && number != SIGSTOP && number != 32 && number != 33 && number != 61;
}

static int set_signal(struct job *job, const char *text)
{
    unsigned long long number;
    if (!read_number(text, 0, 64, &number) || !is_for_report(number))
        return sp_bad_usage("'%s' is not a signal's number from 1 to 64 that a program may use, nor 0", text);
    return set(job, "signal", text);
}

static int set_option(struct job *job, char **argv, int option)
{
    switch (option) {
    case 's':
        return set_shown(job, optarg);
    case 'e':
        return set_error_status(job, optarg);
    case 'S':
        return leaks_suppressions_read(&job->suppressions, optarg) == 0 ? 0 : SP_EXIT_BAD_INPUT;
    case 'o':
        job->output = optarg;
        return 0;
    case 'f':
        return set_number(job, "frames", optarg);
    case 'd':
        return set_number(job, "dump", optarg);
    case OPTION_FORMAT:
        return set_form(job, optarg);
    case OPTION_DUMPS:
        return set_number(job, "dumps", optarg);
    case OPTION_MIN_SIZE:
        return set_number(job, "floor", optarg);
    case OPTION_SAMPLE:
        return set_number(job, "sample", optarg);
    case OPTION_SIGNAL:
        return set_signal(job, optarg);
    case OPTION_NO_SCAN:
        return set(job, "scan", "0");
    case OPTION_DISABLED:
        return set(job, "disabled", "1");
    case OPTION_FREE_STACKS:
        return set(job, "free_stacks", "1");
    case OPTION_NO_GUARD:
        return set(job, "guard", "0");
    case OPTION_KEEP_LIBC:
        return set(job, "release", "0");
    case OPTION_FOLLOW:
        return set(job, "follow", "1");
    case OPTION_COMPARE:
        job->is_comparing = true;
        return 0;
    case OPTION_PRINT:
        job->is_printing = true;
        return 0;
    case OPTION_SELF_TEST:
        job->is_testing = true;
        return 0;
    case OPTION_LEAK:
        job->is_leaking = true;
        return 0;
    default:
        return sp_bad_option(argv, option);
    }
}

/* The preloaded part cannot complain of a word of SPWALK_LEAKS. */
static int check_word(const char *word)
{
    static const char *const texts[] = {"show=", "suppressions=", "format=", "output="};
    const char *equals = strchr(word, '=');
    const struct number *number = equals == NULL ? NULL : find_number(word, (size_t)(equals - word));
    unsigned long long value;
    if (number != NULL) {
        if (read_number(equals + 1, number->least, number->most, &value) &&
            (strcmp(number->name, "signal") != 0 || is_for_report(value)))
            return 0;
        return sp_bad_usage("SPWALK_LEAKS: '%s': not a number from %llu to %llu that can be had", word, number->least,
                            number->most);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strncmp(word, texts[i], strlen(texts[i])) == 0)
            return 0;
    return *word == '\0' ? 0 : sp_bad_usage("SPWALK_LEAKS: '%s': no NAME=VALUE with a name that there is", word);
}

/* The words of SPWALK_LEAKS that are the tool's, by the names of its options; the others are the preloaded part's. */
static int read_environment(struct job *job, char **argv)
{
    static const struct {
        const char *name;
        int option;
    } words[] = {{"show=", 's'}, {"suppressions=", 'S'}, {"format=", OPTION_FORMAT}, {"output=", 'o'}};
    char *copy = strdup(job->options), *rest = copy, *word;
    int status = 0;
    while (status == 0 && copy != NULL && (word = strsep(&rest, ":")) != NULL) {
        status = check_word(word);
        for (size_t i = 0; status == 0 && i < sizeof words / sizeof *words; i++)
            if (strncmp(word, words[i].name, strlen(words[i].name)) == 0) {
                optarg = word + strlen(words[i].name);
                if (words[i].option == 'o')
                    optarg = job->output_kept = strdup(optarg);
                status = set_option(job, argv, words[i].option);
            }
    }
    free(copy);
    return status;
}

/* Returns -1 to go on, else the exit status. */
static int parse(struct job *job, int argc, char **argv)
{
    int status = 0, option;
    const char *given = getenv(LEAKS_ENVIRONMENT);
    job->options = strdup(given ? given : "");
    status = job->options ? read_environment(job, argv) : SP_EXIT_BAD_INPUT;
    /* A program that is linked with the library has run by then: its report is not to be lost. */
    if (argc > 1 && strcmp(argv[1], "--print") == 0)
        status = 0;
    while (status == 0 && (option = getopt_long(argc, argv, "+:s:e:S:o:f:d:", long_options, NULL)) != -1) {
        if (option == OPTION_HELP) {
            fputs(help, stdout);
            return 0;
        }
        status = set_option(job, argv, option);
    }
    if (status == 0 && job->is_comparing && argc - optind != 2)
        status = sp_bad_usage("--compare needs two JSON reports");
    if (status == 0 && job->form == FORM_JSON && job->output != NULL && strstr(job->output, "%p") != NULL)
        status = sp_bad_usage("a JSON document holds all processes; name its file without %%p");
    bool needs_program = !job->is_testing && !job->is_leaking;
    if (status == 0 && optind == argc && needs_program)
        status = sp_bad_usage("no PROGRAM");
    if (status == 0 && optind != argc && !needs_program)
        status = sp_bad_usage("--self-test runs no program but this one");
    return status ? status : -1;
}

/* The output's name with %p for a process. To be freed. */
static char *output_name(const char *pattern, int32_t process)
{
    char *name = NULL;
    size_t size;
    FILE *out = open_memstream(&name, &size);
    for (; out != NULL && *pattern != '\0'; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            fprintf(out, "%d", process);
            pattern++;
        } else {
            fputc(*pattern, out);
        }
    }
    if (out != NULL)
        fclose(out);
    return name;
}

static bool close_output(struct job *job)
{
    bool is_good = job->out == NULL || (fflush(job->out) == 0 && !ferror(job->out));
    if (job->out != NULL && job->out != stderr)
        is_good = fclose(job->out) == 0 && is_good;
    job->out = NULL;
    if (!is_good)
        sp_complain("cannot write the report: %s", strerror(errno));
    return is_good;
}

/* The open output for a report of a process; a file with %p in its name is another for each. */
static bool open_output(struct job *job, int32_t process)
{
    bool is_each = job->output != NULL && strstr(job->output, "%p") != NULL;
    if (job->out != NULL && (!is_each || process == job->out_process))
        return true;
    if (!close_output(job))
        return false;
    job->out_process = process;
    if (job->output == NULL) {
        job->out = stderr;
        return true;
    }
    char *name = output_name(job->output, process);
    job->out = name ? fopen(name, is_each || job->is_printing ? "ae" : "we") : NULL;
    if (job->out == NULL)
        sp_complain("%s: %s", name ? name : job->output, strerror(errno));
    free(name);
    return job->out != NULL;
}

static bool has_anything(const struct leaks_data *data, uint32_t shown)
{
    for (size_t i = 0; i < data->block_count; i++)
        if (shown >> data->blocks[i].block.class & 1)
            return true;
    return data->error_count > 0;
}

static void show(struct job *job, const struct leaks_profile *profile)
{
    if (!open_output(job, profile->data->process.process)) {
        job->has_failed = true;
        return;
    }
    if (job->form == FORM_TEXT) {
        if (job->reports_seen > 1)
            fputc('\n', job->out);
        leaks_show_text(job->out, profile, isatty(fileno(job->out)) == 1 && getenv("NO_COLOR") == NULL);
    } else if (job->form == FORM_JSON) {
        fputs(job->has_json ? ",\n" : "{\"reports\": [\n", job->out);
        job->has_json = true;
        job->has_failed = leaks_show_json(job->out, profile) != 0 || job->has_failed;
    } else {
        leaks_show_folded(job->out, profile, job->form == FORM_FOLDED_BLOCKS);
    }
    fflush(job->out);
}

/* Of processes that were forked, and of a program that executes another, only what has something to tell is shown. */
static bool take(void *argument, const char *path, bool is_end)
{
    struct job *job = argument;
    struct leaks_data data;
    int result = leaks_data_read(path, &data);
    /* While the program runs it may withdraw the report of an exec that failed. */
    if (result == LEAKS_DATA_GONE && !is_end)
        return false;
    if (result == LEAKS_DATA_GONE)
        sp_complain("%s: cannot be read: there is no such file", path);
    if (result != 0) {
        job->has_failed = true;
        return true;
    }
    const struct leaks_process *process = &data.process;
    /* It may still be withdrawn: the program that was to be executed may not exist. */
    if (process->reason == LEAKS_REASON_EXEC && !is_end) {
        leaks_data_free(&data);
        return false;
    }
    if (job->first_process == 0)
        job->first_process = process->process;
    uint32_t shown = process->is_scanned ? job->shown : 1u << LEAKS_UNKNOWN;
    bool is_own = job->is_printing || process->parent == (int32_t)getpid();
    job->has_end = job->has_end || (is_own && process->reason == LEAKS_REASON_EXIT);
    bool is_first = job->reports_seen == 0 && is_own && !process->is_refused;
    if ((is_first && process->reason != LEAKS_REASON_EXEC) || has_anything(&data, shown) ||
        process->reason == LEAKS_REASON_SIGNAL || process->reason == LEAKS_REASON_CALL) {
        struct leaks_profile profile;
        job->reports_seen++;
        if (leaks_profile_make(&profile, &data, shown, &job->suppressions) == 0) {
            job->wrong += profile.wrong;
            show(job, &profile);
        } else {
            sp_complain("%s: out of memory", path);
            job->has_failed = true;
        }
        leaks_profile_free(&profile);
    }
    leaks_data_free(&data);
    return true;
}

static void finish(struct job *job, const char *program, int status)
{
    if (!job->has_end && WIFSIGNALED(status)) {
        sp_complain("%s: ended by signal %d (%s), so there is no report of its end", program, WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
    } else if (job->reports_seen == 0 && job->first_process == 0) {
        sp_complain("%s: it ran, but left no report: libspwalk-leaks.so was not loaded into it, or it ended by a "
                    "system call of its own",
                    program);
        job->has_failed = true;
    }
    if (job->form == FORM_JSON && open_output(job, job->out_process))
        fputs(job->has_json ? "\n]}\n" : "{\"reports\": []}\n", job->out);
    for (size_t i = 0; i < job->suppressions.count && job->form == FORM_TEXT; i++) {
        const struct leaks_suppression *item = &job->suppressions.items[i];
        if (item->groups != 0 && job->out != NULL)
            fprintf(job->out, "suppressed by %s: %llu blocks, %llu bytes\n", item->pattern,
                    (unsigned long long)item->blocks, (unsigned long long)item->bytes);
    }
}

static int run(struct job *job, const char *program, const char *library, char **arguments)
{
    int status = 0;
    /* A file that cannot be written is told before the program runs. */
    if (job->output != NULL && strstr(job->output, "%p") == NULL && !open_output(job, 0))
        return SP_EXIT_BAD_INPUT;
    int result = leaks_run(program, arguments, library, job->options, take, job, &status);
    if (result == 0)
        finish(job, program, status);
    if (!close_output(job) || result != 0 || job->has_failed)
        return SP_EXIT_BAD_INPUT;
    return job->wrong != 0 && job->error_status >= 0 ? job->error_status : sp_run_end_as(status);
}

/* What the preloaded part has done where no tool runs the program: print its data file, which is then removed. */
static int print_file(struct job *job, const char *path)
{
    take(job, path, true);
    unlink(path);
    finish(job, path, 0);
    return close_output(job) && !job->has_failed ? 0 : SP_EXIT_BAD_INPUT;
}

int sp_command_leaks(int argc, char **argv)
{
    static struct job job = {.shown = 1u << LEAKS_DEFINITE | 1u << LEAKS_INDIRECT, .error_status = -1};
    int status = parse(&job, argc, argv);
    if (status < 0 && job.is_comparing) {
        status = leaks_compare(stdout, argv[optind], argv[optind + 1]);
    } else if (status < 0 && job.is_printing) {
        status = print_file(&job, argv[optind]);
    } else if (status < 0 && job.is_leaking) {
        status = leaks_self_test_leak();
    } else if (status < 0 && job.is_testing) {
        char *library = sp_preload_find("leaks");
        status = library ? leaks_self_test(library, job.options) : SP_EXIT_BAD_INPUT;
        free(library);
    } else if (status < 0) {
        char *program = sp_preload_program(argv[optind]);
        char *library = program ? sp_preload_find("leaks") : NULL;
        status = library ? run(&job, program, library, argv + optind) : SP_EXIT_BAD_INPUT;
        free(program);
        free(library);
    }
    leaks_suppressions_free(&job.suppressions);
    free(job.options);
    free(job.output_kept);
    return status;
}
