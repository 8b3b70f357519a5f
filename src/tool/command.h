/* SPDX-License-Identifier: MIT */
/*
 * The commands of the CLI. Each is a file with one function of this shape, a line in the table in main.c, a man page
 * spwalk-NAME(1).
 *
 * argv[0] is the command's name. Returns the exit status: 0 fine, 1 something wrong was found, 2 usage or bad input,
 * with one line on stderr and nothing written; the child's where a command runs a program.
 */
#ifndef SPWALK_COMMAND_H
#define SPWALK_COMMAND_H

#define SP_EXIT_WRONG 1
#define SP_EXIT_BAD_INPUT 2

typedef int sp_command_function(int argc, char **argv);

sp_command_function sp_command_frames;
sp_command_function sp_command_imports;
sp_command_function sp_command_map;
sp_command_function sp_command_leaks;
sp_command_function sp_command_symbolize;

/* Prints "spwalk NAME: " and a text of the printf kind, as one line, on stderr; NAME is the running command's. */
void sp_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, followed by where to find the usage; returns SP_EXIT_BAD_INPUT. */
int sp_bad_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What getopt_long told of an option it does not know, as one line in our own form. Set opterr to 0 before it. */
int sp_bad_option(char **argv, int option);

#endif
