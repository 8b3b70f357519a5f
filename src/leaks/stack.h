/* SPDX-License-Identifier: MIT */
/* The stack of an allocation, walked from the caller of the hook. */
#ifndef SPWALK_LEAKS_STACK_H
#define SPWALK_LEAKS_STACK_H

#include "walk/start.h"

#include <stdbool.h>

/*
 * The return addresses, innermost first, at most max: how many. *is_cut: the stack goes on, as far as can be told.
 *
 * The frames are those of sp_backtrace. Most are left by a rule that the walker knows already and that needs no more
 * than SP and rbp, or by their word; where all are, this takes a fraction of the time, because nothing is remembered
 * for the next walk: blocks are allocated at ever other stacks. Where one is not, the walker walks them all.
 */
unsigned leaks_stack_walk(const struct sp_own_registers *caller, void **pcs, unsigned max, bool *is_cut);

/* The two ways of it: by known rules alone, 0 where that cannot be done; by the walker alone. */
unsigned leaks_stack_walk_by_rules(const struct sp_own_registers *caller, void **pcs, unsigned max, bool *is_cut);
unsigned leaks_stack_walk_fully(const struct sp_own_registers *caller, void **pcs, unsigned max, bool *is_cut);

#endif
