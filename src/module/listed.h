/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_LISTED_H
#define SPWALK_LISTED_H

#include "module/module.h"

/*
 * As sp_module_find, by dl_iterate_phdr, and then by sp_module_find_unlisted. Async-signal-safe in a static program,
 * whose list is fixed; in a dynamic one dl_iterate_phdr takes the loader's lock.
 */
bool sp_module_find_listed(uintptr_t address, struct sp_module *module);

/*
 * The same for what may be in no list: the kernel's own object (vdso), and a static program. (glibc's list leaves out a
 * program without .eh_frame_hdr, as "gcc -static" links it.) Async-signal-safe.
 */
bool sp_module_find_unlisted(uintptr_t address, struct sp_module *module);

#endif
