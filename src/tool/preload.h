/* SPDX-License-Identifier: MIT */
/* Running a program with a library of ours preloaded: finding both, and telling beforehand why it cannot work. */
#ifndef SPWALK_PRELOAD_H
#define SPWALK_PRELOAD_H

/*
 * The path of a preloaded part, "libspwalk-NAME.so": beside this program in its build folder, else where it is
 * installed. Returns a string to be freed, or NULL with a line on stderr.
 */
char *sp_preload_find(const char *name);

/*
 * The program that execvp(3) would start, after checking that the dynamic linker will obey LD_PRELOAD in it: a static
 * program, one for another machine and one that gains privileges are refused. Returns a string to be freed, or NULL
 * with a line on stderr.
 */
char *sp_preload_program(const char *name);

#endif
