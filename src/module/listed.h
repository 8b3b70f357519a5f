/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_LISTED_H
#define SPWALK_LISTED_H

#include "module/module.h"

/*
 * As sp_module_find, by dl_iterate_phdr, and then by sp_module_find_vdso. Async-signal-safe in a static program, whose
 * list is fixed; in a dynamic one dl_iterate_phdr takes the loader's lock.
 */
bool sp_module_find_listed(uintptr_t address, struct sp_module *module);

/* The same for the kernel's own object (vdso), which is in no list of a static program. Async-signal-safe. */
bool sp_module_find_vdso(uintptr_t address, struct sp_module *module);

#endif
