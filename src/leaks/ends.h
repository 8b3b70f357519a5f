/* SPDX-License-Identifier: MIT */
/* The ends of a program: after its last destructor, at _exit, and where another program takes its place. */
#ifndef SPWALK_LEAKS_ENDS_H
#define SPWALK_LEAKS_ENDS_H

/* To be called before any other constructor: what is registered first at exit runs last. */
void leaks_ends_start(void);

#endif
