/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "symbolize.h"
#include "symbols/elf_file.h"
#include "symbols/map_load.h"
#include "symbols/symbolizer.h"

struct job {
    struct sp_style style;
    const char *elf;
    const char *map;
    const char *debug_path;
    unsigned flags;
    int interrupted; /* an address is a pc itself, not a return address */

    struct sp_symbolizer *symbolizer;
    struct sp_modules *modules; /* of elf alone */
    struct sp_map_view view;    /* of map, where there is no elf */
    const char *told;           /* the note that was told last: each is told once */
    FILE *out;
};

static const char help[] =
    "usage: spwalk symbolize [OPTIONS] [-e ELF] [-m MAP] [ADDRESS...]\n"
    "\n"
    "Names addresses: hexadecimal, as addr2line takes them, or FILE+ADDRESS. Without addresses as arguments they are\n"
    "read from standard input, separated by blanks; one that is bad is answered by ?? there, with status 2 at the "
    "end.\n"
    "\n"
    "  -e, --exe=ELF            the ELF file that the addresses are in\n"
    "  -m, --map=MAP            a name map (spmap(5)); with -e it is asked after the file's own symbols\n"
    "  -f, --functions          also function names\n"
    "  -i, --inlines            also the callers that a function was inlined into\n"
    "  -C, --demangle           C++ names as in the source\n"
    "  -a, --addresses          also the address, before each\n"
    "  -p, --pretty-print       all of an address on one line\n"
    "  -s, --basenames          files without their folders\n"
    "  -c, --columns            columns after line numbers\n"
    "  -r, --return-addresses   the addresses are return addresses: look at the call before each\n"
    "  -n, --nearest            where no function contains an address, name the nearest one below it\n"
    "  -j, --json               all that is known, a JSON object a line\n"
    "  -d, --debug-path=PATH    folders of separate debug files, colon-separated (/usr/lib/debug)\n"
    "      --no-debug-files     follow no build-id and no .gnu_debuglink\n"
    "      --help               this text\n";

/* The whole text is a hexadecimal number, with or without 0x. */
static bool parse_address(const char *text, uintptr_t *address)
{
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    if (!isxdigit((unsigned char)text[0]))
        return false;
    char *end;
    errno = 0;
    *address = strtoul(text, &end, 16);
    return errno == 0 && *end == '\0';
}

static struct sp_modules *open_module(const char *path)
{
    struct sp_modules *modules = sp_modules_new();
    if (modules != NULL && sp_modules_add(modules, &(struct sp_loaded_module){.path = path}) == 0)
        return modules;
    if (errno == ENOEXEC)
        sp_complain("%s: not an x86-64 ELF file with segments to load", path);
    else
        sp_complain("%s: %s", path, strerror(errno));
    sp_modules_free(modules);
    return NULL;
}

static int show(struct job *job, const struct sp_modules *modules, uintptr_t address)
{
    struct sp_symbol symbol;
    int status = modules != NULL ? sp_symbolize(job->symbolizer, modules, address, job->interrupted, &symbol)
                                 : sp_symbolize_by_map(job->symbolizer, &job->view, address, job->interrupted, &symbol);
    if (status < 0) {
        sp_complain("%s", strerror(errno));
        return SP_EXIT_BAD_INPUT;
    }
    if (symbol.note != NULL && symbol.note != job->told)
        sp_complain("%s", job->told = symbol.note);
    if (symbol.damaged)
        return SP_EXIT_BAD_INPUT;
    if (!job->style.json) {
        sp_show_text(job->out, &job->style, &symbol);
    } else if (sp_show_json(job->out, &symbol) != 0) {
        sp_complain("out of memory");
        return SP_EXIT_BAD_INPUT;
    }
    return 0;
}

/* word: ADDRESS, or FILE+ADDRESS. */
static int show_word(struct job *job, char *word)
{
    uintptr_t address;
    char *plus = strrchr(word, '+');
    if (plus != NULL && plus != word && parse_address(plus + 1, &address)) {
        *plus = '\0';
        struct sp_modules *modules = open_module(word);
        *plus = '+';
        int status = modules == NULL ? SP_EXIT_BAD_INPUT : show(job, modules, address);
        sp_modules_free(modules);
        return status;
    }
    if (!parse_address(word, &address)) {
        sp_complain("'%s' is not an address: give hexadecimal digits, or FILE+ADDRESS", word);
        return SP_EXIT_BAD_INPUT;
    }
    if (job->modules == NULL && job->map == NULL) {
        sp_complain("which file is %s in? Give it with -e ELF or -m MAP", word);
        return SP_EXIT_BAD_INPUT;
    }
    return show(job, job->modules, address);
}

/*
 * Whoever writes the addresses may wait for each answer, and counts them: a word that is bad has one, too, and those
 * after it are not lost. (An object of JSON tells what it answers.)
 */
static int show_input(struct job *job)
{
    if (isatty(STDIN_FILENO))
        sp_complain("reading %s from the terminal, up to the end of input (Ctrl-D)",
                    job->modules == NULL && job->map == NULL ? "FILE+ADDRESS (there is no -e ELF and no -m MAP)"
                                                             : "addresses");
    char *line = NULL;
    size_t room = 0;
    int status = 0;
    while (getline(&line, &room, stdin) > 0) {
        char *rest = line, *word;
        while ((word = strsep(&rest, " \t\r\n")) != NULL) {
            if (word[0] == '\0' || show_word(job, word) == 0)
                continue;
            status = SP_EXIT_BAD_INPUT;
            if (!job->style.json)
                sp_show_unknown(job->out, &job->style, word);
        }
        fflush(job->out);
    }
    free(line);
    return status;
}

/* With addresses as arguments, one that is bad leaves nothing written. */
static int show_arguments(struct job *job, char **words)
{
    char *text = NULL;
    size_t size;
    job->out = open_memstream(&text, &size);
    int status = job->out == NULL ? SP_EXIT_BAD_INPUT : 0;
    if (status != 0)
        sp_complain("%s", strerror(errno));
    while (status == 0 && *words != NULL)
        status = show_word(job, *words++);
    if (job->out != NULL)
        fclose(job->out);
    if (status == 0)
        fwrite(text, 1, size, stdout);
    free(text);
    return status;
}

/* A map beside an ELF file must be that file's, as far as both have a build-id. */
static int load_map(struct job *job)
{
    const void *bytes;
    size_t size;
    const char *wrong = sp_map_file_open(job->map, &job->view, &bytes, &size);
    if (wrong != NULL) {
        sp_complain("%s: %s", job->map, wrong);
        return -1;
    }
    if (job->elf == NULL)
        return 0;
    char *why = NULL;
    struct sp_elf *file = sp_elf_open(job->elf, &why);
    const struct sp_map_bytes *id = &job->view.build_id;
    int status = -1;
    if (file == NULL) {
        sp_complain("%s", why == NULL ? "out of memory" : why);
    } else if (sp_build_ids_differ(file->build_id, file->build_id_size, id->bytes, id->size)) {
        char wanted[2 * SP_BUILD_ID_MAX + 1], has[2 * SP_BUILD_ID_MAX + 1];
        sp_build_id_text(file->build_id, file->build_id_size, wanted, sizeof wanted);
        sp_build_id_text(id->bytes, id->size, has, sizeof has);
        sp_complain("%s: refused: its build-id is %s, that of %s is %s", job->map, has, job->elf, wanted);
    } else if (sp_map_load(job->map, job->elf, &wrong) != 0) {
        sp_complain("%s: %s", job->map, wrong);
    } else {
        status = 0;
    }
    free(why);
    sp_elf_close(file);
    return status;
}

static int run(struct job *job, char **words)
{
    if (job->elf != NULL && (job->modules = open_module(job->elf)) == NULL)
        return SP_EXIT_BAD_INPUT;
    if (job->map != NULL && load_map(job) != 0)
        return SP_EXIT_BAD_INPUT;
    job->symbolizer = sp_symbolizer_new(job->flags, job->debug_path);
    if (job->symbolizer == NULL) {
        sp_complain("out of memory");
        return SP_EXIT_BAD_INPUT;
    }
    job->out = stdout;
    return *words == NULL ? show_input(job) : show_arguments(job, words);
}

int sp_command_symbolize(int argc, char **argv)
{
    enum { OPTION_HELP = 256, OPTION_NO_DEBUG_FILES };
    static const struct option options[] = {
        {"exe", required_argument, NULL, 'e'},        {"map", required_argument, NULL, 'm'},
        {"functions", no_argument, NULL, 'f'},        {"inlines", no_argument, NULL, 'i'},
        {"demangle", no_argument, NULL, 'C'},         {"addresses", no_argument, NULL, 'a'},
        {"pretty-print", no_argument, NULL, 'p'},     {"basenames", no_argument, NULL, 's'},
        {"columns", no_argument, NULL, 'c'},          {"return-addresses", no_argument, NULL, 'r'},
        {"nearest", no_argument, NULL, 'n'},          {"json", no_argument, NULL, 'j'},
        {"debug-path", required_argument, NULL, 'd'}, {"no-debug-files", no_argument, NULL, OPTION_NO_DEBUG_FILES},
        {"help", no_argument, NULL, OPTION_HELP},     {0},
    };
    struct job job = {.flags = SP_LINES, .interrupted = 1};
    int option;
    while ((option = getopt_long(argc, argv, ":e:m:fiCapscrnjd:", options, NULL)) != -1) {
        switch (option) {
        case 'e':
            job.elf = optarg;
            break;
        case 'm':
            job.map = optarg;
            break;
        case 'f':
            job.style.functions = true;
            break;
        case 'i':
            job.style.inlines = true;
            break;
        case 'C':
            job.flags |= SP_DEMANGLE;
            break;
        case 'a':
            job.style.addresses = true;
            break;
        case 'p':
            job.style.pretty = true;
            break;
        case 's':
            job.style.basenames = true;
            break;
        case 'c':
            job.style.columns = true;
            break;
        case 'r':
            job.interrupted = 0;
            break;
        case 'n':
            job.flags |= SP_NEAREST;
            break;
        case 'j':
            job.style.json = true;
            break;
        case 'd':
            job.debug_path = optarg;
            break;
        case OPTION_NO_DEBUG_FILES:
            job.flags |= SP_NO_DEBUG_FILES;
            break;
        case OPTION_HELP:
            fputs(help, stdout);
            return 0;
        default:
            return sp_bad_option(argv, option);
        }
    }
    int status = run(&job, argv + optind);
    sp_symbolizer_free(job.symbolizer);
    sp_modules_free(job.modules);
    return status;
}
