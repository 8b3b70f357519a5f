/* SPDX-License-Identifier: MIT */
/*
 * Libraries that the program opens at run time.
 *
 * The dynamic linker calls a function of its own, which does nothing, before and after each change of the list of
 * objects; <link.h> gives its address (r_debug.r_brk) for debuggers to stop at. A jump to imports_list_changed is
 * written there. At that point new libraries are mapped but not relocated, so nothing can be redirected yet; their
 * first initialiser is replaced, in the dynamic section, by one of ours, which runs after relocation and before any
 * code of theirs: it redirects, puts the old one back and calls it.
 */
#ifndef SPWALK_IMPORTS_OPENED_H
#define SPWALK_IMPORTS_OPENED_H

#include <stddef.h>
#include <stdint.h>

#define IMPORTS_PENDING_MAX 256

/* Begins to watch. Where the linker's function is not as expected, nothing is changed and false is returned. */
int imports_watch_opened(void);

/* Called through the linker's function. */
void imports_list_changed(void);

/* Called in place of the first initialiser of the library in pending entry `number`. */
void imports_initialise(int argc, char **argv, char **environment, unsigned number);

/* Assembly (enter.S): IMPORTS_PENDING_MAX initialisers of 16 bytes, each of which passes its number on. */
extern const unsigned char imports_initialisers[];

#endif
