/* SPDX-License-Identifier: MIT */
#ifndef MACHINE_H
#define MACHINE_H

/* Prints what the figures depend on beside the walkers: processor, kernel, compiler, C library, a system call's time.
 */
void machine_print(void);

#endif
