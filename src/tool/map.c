/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "link_map.h"
#include "map_lines.h"
#include "map_write.h"
#include "output_file.h"
#include "symbols/elf_file.h"
#include "symbols/separate_debug.h"
#include "symbols/why.h"

struct job {
    const char *input;
    const char *output;
    const char *id_file;
    const char *debug_path;
    bool lines;

    struct sp_elf *elf, *debug_file, *id_elf;
    struct sp_link_map link_map;
    struct sp_function_table functions;
    struct sp_map_lines rows;
    char *why;
};

static const char help[] =
    "usage: spwalk map [OPTIONS] FILE -o OUT.spmap\n"
    "\n"
    "Writes the functions of an ELF file (before it is stripped), or of the map file that GNU ld or lld wrote beside "
    "it,\n"
    "as a name map (spmap(5)).\n"
    "\n"
    "  -o, --output=OUT         the map to write\n"
    "  -l, --lines              also files and lines, from the ELF file's debugging information\n"
    "  -b, --build-id=ELF       take the build-id from this file: a linker's map file has none\n"
    "  -d, --debug-path=PATH    folders of separate debug files, colon-separated (/usr/lib/debug)\n"
    "      --help               this text\n";

static bool is_elf(const char *path)
{
    char magic[SELFMAG] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && read(fd, magic, sizeof magic) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

static Elf_Scn *symtab_of(const struct sp_elf *file, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(file->elf, section)) != NULL)
        if (gelf_getshdr(section, header) != NULL && header->sh_type == SHT_SYMTAB)
            return section;
    return NULL;
}

static int read_elf(struct job *job)
{
    job->elf = sp_elf_open(job->input, &job->why);
    if (job->elf == NULL)
        return -1;
    GElf_Shdr header;
    const struct sp_elf *file = job->elf;
    Elf_Scn *section = symtab_of(file, &header);
    if (section == NULL) {
        job->debug_file = sp_separate_debug_open(job->elf, job->debug_path, &job->why);
        if ((file = job->debug_file) == NULL || (section = symtab_of(file, &header)) == NULL) {
            if (job->why == NULL)
                sp_why(&job->why, "%s: it has no .symtab: give the file before it was stripped, or its debug file",
                       job->input);
            return -1;
        }
    }
    if (sp_function_table_read(file, section, &header, false, &job->functions) != 0) {
        sp_why(&job->why, "%s: out of memory", job->input);
        return -1;
    }
    if (job->functions.count == 0) {
        sp_why(&job->why, "%s: its .symtab has no functions, or is damaged", job->input);
        return -1;
    }
    if (!job->lines)
        return 0;
    return sp_map_lines_read(sp_elf_has_dwarf(job->elf) || job->debug_file == NULL ? job->elf : job->debug_file,
                             &job->rows, &job->why);
}

static int read_link_map(struct job *job)
{
    int fd = open(job->input, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status = -1;
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0) {
        sp_why(&job->why, "%s: %s", job->input, strerror(errno));
    } else if (!S_ISREG(about.st_mode) || about.st_size == 0) {
        sp_why(&job->why, "%s: neither an ELF file nor a linker's map file", job->input);
    } else if (job->lines) {
        sp_why(&job->why, "%s: a linker's map file has no lines; without --lines it can be read", job->input);
    } else {
        void *text = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (text == MAP_FAILED) {
            sp_why(&job->why, "%s: %s", job->input, strerror(errno));
        } else {
            status = sp_link_map_read(text, (size_t)about.st_size, job->input, &job->link_map, &job->why);
            munmap(text, (size_t)about.st_size);
        }
    }
    if (fd >= 0)
        close(fd);
    if (status == 0 && sp_function_table_build(job->link_map.entries, job->link_map.count, &job->functions) != 0) {
        sp_why(&job->why, "out of memory");
        status = -1;
    }
    return status;
}

static int write_map(struct job *job)
{
    const struct sp_elf *with_id = job->elf;
    if (job->id_file != NULL) {
        with_id = job->id_elf = sp_elf_open(job->id_file, &job->why);
        if (with_id == NULL)
            return -1;
        if (with_id->build_id_size == 0) {
            sp_why(&job->why, "%s: it has no build-id; link with --build-id", job->id_file);
            return -1;
        }
        if (job->elf != NULL && sp_build_ids_differ(job->elf->build_id, job->elf->build_id_size, with_id->build_id,
                                                    with_id->build_id_size)) {
            sp_why(&job->why, "%s: its build-id is not that of %s", job->id_file, job->input);
            return -1;
        }
    }
    struct sp_map_contents contents = {
        .build_id = with_id == NULL ? NULL : with_id->build_id,
        .build_id_size = with_id == NULL ? 0 : with_id->build_id_size,
        .functions = &job->functions,
        .rows = job->rows.rows,
        .row_count = job->rows.count,
        .files = job->rows.files,
        .file_count = job->rows.file_count,
    };
    uint8_t *bytes;
    size_t size;
    if (sp_map_make(&contents, &bytes, &size) != 0) {
        sp_why(&job->why, "%s: %s", job->output, strerror(errno));
        return -1;
    }
    int status = sp_output_file_write(job->output, bytes, size, &job->why);
    free(bytes);
    return status;
}

static int run(struct job *job)
{
    int status = is_elf(job->input) ? read_elf(job) : read_link_map(job);
    if (status == 0)
        status = write_map(job);
    if (status != 0)
        sp_complain("%s", job->why == NULL ? "out of memory" : job->why);
    sp_function_table_free(&job->functions);
    sp_link_map_free(&job->link_map);
    sp_map_lines_free(&job->rows);
    sp_elf_close(job->elf);
    sp_elf_close(job->debug_file);
    sp_elf_close(job->id_elf);
    free(job->why);
    return status == 0 ? 0 : SP_EXIT_BAD_INPUT;
}

int sp_command_map(int argc, char **argv)
{
    enum { OPTION_HELP = 256 };
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},   {"lines", no_argument, NULL, 'l'},
        {"build-id", required_argument, NULL, 'b'}, {"debug-path", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, OPTION_HELP},   {0},
    };
    struct job job = {.debug_path = "/usr/lib/debug"};
    int option;
    while ((option = getopt_long(argc, argv, ":o:lb:d:", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            job.output = optarg;
            break;
        case 'l':
            job.lines = true;
            break;
        case 'b':
            job.id_file = optarg;
            break;
        case 'd':
            job.debug_path = optarg;
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
    if (job.output == NULL)
        return sp_bad_usage("no output file: give -o OUT.spmap");
    job.input = argv[optind];
    return run(&job);
}
