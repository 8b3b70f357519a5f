/* SPDX-License-Identifier: MIT */
/* The row of call frame information that holds for a frame's pc, or one read from the code that stands for it. */
#ifndef SPWALK_ROW_H
#define SPWALK_ROW_H

#include "cfi/cfi.h"
#include "walk/modules.h"

#include <stdbool.h>
#include <stdint.h>

/* What a row that was read from the code itself holds on; nothing for one of CFI. */
struct sp_row_conditions {
    bool is_from_code;
    bool is_aligned; /* the CFA must be a multiple of 16 */
    bool past_call;  /* a call may not return to the code that was read */
};

/*
 * The row for a frame's pc: by CFI, for an interrupted one corrected by the instructions next to it, or where there is
 * none by the code. Returns false where neither tells.
 */
bool sp_find_row(uintptr_t pc, bool interrupted, const struct sp_known_module *known, struct sp_cfi_row *row,
                 struct sp_row_conditions *conditions);

/* By the code alone. function_hi: where the function ends, or 0 where that is not known. */
bool sp_find_row_by_code(uintptr_t pc, bool interrupted, const struct sp_known_module *known, uintptr_t function_hi,
                         struct sp_cfi_row *row, struct sp_row_conditions *conditions);

/*
 * For a pc in no module: called through a wild pointer, made at run time, or of a module that the loader is still at
 * work on.
 */
bool sp_find_row_without_module(uintptr_t pc, bool interrupted, struct sp_cfi_row *row,
                                struct sp_row_conditions *conditions);

/* Whether a row's conditions are met where it leads to this CFA and this return address. */
bool sp_row_holds(const struct sp_row_conditions *conditions, uintptr_t cfa, uintptr_t return_address);

/* Whether a row's function has no caller. */
bool sp_row_is_outermost(const struct sp_cfi_row *row, const struct sp_module *module);

/* Whether a row is as nearly all are: the CFA is the caller's SP, and its pc lies below that. */
bool sp_row_is_ordinary(const struct sp_cfi_row *row);

/*
 * Whether the code at pc is the signal restorer, `mov $15, %rax; syscall`, which the kernel's signal frame returns to,
 * in glibc and musl alike. [pc, end) can be read.
 */
bool sp_is_restorer(uintptr_t pc, uintptr_t end);

static inline uintptr_t sp_lookup_address(uintptr_t pc, bool interrupted)
{
    return pc - !interrupted;
}

#endif
