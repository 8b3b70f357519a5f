/* SPDX-License-Identifier: MIT */
/* The allocator as all hooks of one kind use it: glibc's, with each block recorded. */
#ifndef SPWALK_LEAKS_HOOKS_H
#define SPWALK_LEAKS_HOOKS_H

#include "leaks/data.h"
#include "walk/start.h"

#include <stddef.h>

/* caller: of the hook; its stack is the block's. */
void *leaks_allocate(size_t size, enum leaks_kind kind, const struct sp_own_registers *caller);
void *leaks_allocate_aligned(size_t alignment, size_t size, enum leaks_kind kind,
                             const struct sp_own_registers *caller);
void leaks_release(void *block, enum leaks_kind kind);

/* The address of our free. */
void *leaks_find_free(void);

#endif
