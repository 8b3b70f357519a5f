/* SPDX-License-Identifier: MIT */
/* The module and function of a pc, from what is mapped alone. Async-signal-safe. */
#ifndef SPWALK_MAPPED_PLACE_H
#define SPWALK_MAPPED_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct sp_mapped_place {
    const char *module;
    uint64_t module_offset;
    char function[256]; /* empty: not known; a longer name is cut */
    uint64_t function_offset;
};

/*
 * before: how far before pc its look-up address lies: 1 for a return address, 0 for an interrupted pc.
 * Returns false where no module contains that address.
 */
bool sp_mapped_place_find(uintptr_t pc, unsigned before, struct sp_mapped_place *place);

/* Whether pc is a signal frame's: the kernel's return from a handler is there (mov $15, %rax; syscall). */
bool sp_is_signal_return(uintptr_t pc);

#endif
