/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_IMPORTS_FIRST_STACK_H
#define SPWALK_IMPORTS_FIRST_STACK_H

#include "imports/counter.h"
#include "imports/report.h"

/*
 * Stores the stack of the call that imports_enter_first_call came from as the library's. `returns_to` is where
 * imports_first_call returns to, `sp` the stack pointer then. The walk has a stack of its own where no
 * other thread has it: a program may well call with so little left that a walk would not fit, in a handler on an
 * alternate stack for one. Async-signal-safe, thread-safe; keeps errno.
 */
void imports_first_stack(struct imports_object *library, const struct imports_arguments *arguments,
                         uintptr_t returns_to, uintptr_t sp);

/* In a forked child no other thread has it. */
void imports_first_stack_child(void);

/* Assembly (enter.S): calls function(argument) on the stack whose highest address, 16-byte aligned, is `top`. */
void imports_run_on(void *top, void (*function)(void *argument), void *argument);

#endif
