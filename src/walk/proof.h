/* SPDX-License-Identifier: MIT */
/*
 * Whether a rule that was found for an interrupted pc is right there.
 *
 * At a call, what call frame information says is right, or no exception would pass. Between calls nothing relies on it,
 * and it is wrong at some instructions: of assembly that moves rsp without a word, of switches from one stack to
 * another, of compilers' epilogues. What is known independently of it:
 *
 *     where it leads     a return address follows a call, and the call is of the function that was interrupted
 *     the code ahead     (code.h) pushes and pops that are still to come tell where the return address lies
 *
 * A rule for a pc is proven by one call of its function, or by the code's agreeing. A proven one is kept as such.
 */
#ifndef SPWALK_PROOF_H
#define SPWALK_PROOF_H

#include "cfi/cfi.h"
#include "walk/bounds.h"

#include <stdbool.h>
#include <stdint.h>

enum sp_call_site {
    SP_SITE_NONE,     /* no executable code, or no call before it */
    SP_SITE_UNKNOWN,  /* after a call, of what can't be told; or where what was never called returns to */
    SP_SITE_OTHER,    /* after a call of another function, which may have jumped on */
    SP_SITE_FUNCTION, /* after a call of the function */
};

/*
 * What a return address tells of the function [function_lo, function_hi) that is to return there. Never faults. An
 * address in no module can be one of code made at run time; not so if it lies on the stack, whose bounds are given.
 */
enum sp_call_site sp_call_site(uintptr_t return_address, uintptr_t function_lo, uintptr_t function_hi,
                               const struct sp_bounds *bounds);

/* Whether an address follows a call, in a module or, where it can be read, outside of all. */
bool sp_follows_call(uintptr_t address);

/* Whether an address lies in the executable code of a module. */
bool sp_is_code(uintptr_t address);

/*
 * Whether a row belongs to a function that ends in __builtin_eh_return, of which libgcc has a few: it alone saves rax
 * and rdx. It goes not to its caller but to a landing pad, and to that end overwrites what it saved: the callee-saved
 * registers one by one with those of the landing pad's frame, and then its return address.
 */
bool sp_row_is_eh_return(const struct sp_cfi_row *row);

/* For such a row, in the body of its function, code of [function_lo, function_hi): what of it still is what it saved.
 */
enum sp_eh_state {
    SP_EH_INTACT,
    SP_EH_REGISTERS_LOST, /* they may be */
    SP_EH_REPLACED,       /* the return address is another frame's */
};
enum sp_eh_state sp_eh_state(uintptr_t function_lo, uintptr_t function_hi, uintptr_t pc, uintptr_t return_address,
                             const struct sp_bounds *bounds);

#endif
