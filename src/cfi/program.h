/* SPDX-License-Identifier: MIT */
/* Call frame instructions (DWARF 5, section 6.4.2, and GNU's). */
#ifndef SPWALK_CFI_PROGRAM_H
#define SPWALK_CFI_PROGRAM_H

#include "cfi.h"
#include "fde.h"

/*
 * Executes the CIE's initial instructions and the FDE's as far as pc, which lies in [fde->lo, fde->hi).
 * row: filled but for nothing where SP_CFI_OK is returned; the only other result is SP_CFI_BAD.
 */
enum sp_cfi_status sp_program_run(const struct sp_cfi_tables *tables, const struct sp_fde *fde, uintptr_t pc,
                                  struct sp_cfi_row *row);

#endif
