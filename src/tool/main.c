/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

static const struct {
    const char *name;
    sp_command_function *run;
    const char *summary;
} commands[] = {
    {"frames", sp_command_frames, "print or prove the frame records of an ELF file"},
    {"imports", sp_command_imports, "run a program and count its calls into each shared library"},
    {"map", sp_command_map, "write a name map of an ELF file or a linker's map file"},
    {"leaks", sp_command_leaks, "run a program and report the blocks it leaks, with their stacks"},
    {"symbolize", sp_command_symbolize, "name addresses of an ELF file"},
};

static const char *running;

static void complain(const char *format, va_list arguments)
{
    fprintf(stderr, "spwalk%s%s: ", running == NULL ? "" : " ", running == NULL ? "" : running);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void sp_complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
}

int sp_bad_usage(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    sp_complain("%s; see spwalk %s%s--help", line, running == NULL ? "" : running, running == NULL ? "" : " ");
    return SP_EXIT_BAD_INPUT;
}

int sp_bad_option(char **argv, int option)
{
    const char *what = option == ':' ? "needs an argument" : "is not an option, or takes no argument";
    if (optopt > 0 && optopt < 256)
        return sp_bad_usage("-%c %s", optopt, what);
    return sp_bad_usage("'%s' %s", argv[optind - 1], what);
}

static void print_help(void)
{
    puts("usage: spwalk COMMAND [OPTIONS] ARGUMENTS\n"
         "\n"
         "Commands:");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    puts("\n"
         "spwalk COMMAND --help tells a command's options; spwalk --version this program's version.\n"
         "Exit status: 0 fine, 1 something wrong was found, 2 bad usage or bad input; the program's own\n"
         "where a command runs one.");
}

static int print_version(void)
{
    puts("spwalk " SP_VERSION);
    return 0;
}

static bool asks(const char *argument, const char *option, const char *letter)
{
    return argument != NULL && (strcmp(argument, option) == 0 || strcmp(argument, letter) == 0);
}

static int run(int argc, char **argv)
{
    static char help[] = "--help";
    if (argc < 2)
        return sp_bad_usage("no command");
    if (asks(argv[1], "--help", "-h")) {
        print_help();
        return 0;
    }
    if (asks(argv[1], "--version", "-V"))
        return print_version();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        running = commands[i].name;
        opterr = 0;
        if (asks(argv[2], "--version", "-V"))
            return print_version();
        if (asks(argv[2], help, "-h"))
            argv[2] = help;
        return commands[i].run(argc - 1, argv + 1);
    }
    return sp_bad_usage("'%s' is not a command", argv[1]);
}

int main(int argc, char **argv)
{
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        sp_complain("cannot write to standard output: %m");
        return SP_EXIT_BAD_INPUT;
    }
    return status;
}
