/* SPDX-License-Identifier: MIT */
/* Entries of .eh_frame: CIEs and FDEs (Linux Standard Base Core 5.0, section 10.6.1; DWARF 5, section 6.4.1). */
#ifndef SPWALK_CFI_FDE_H
#define SPWALK_CFI_FDE_H

#include "cfi.h"

/* The extent of an entry, after its length field: [body, end). */
struct sp_entry {
    uintptr_t body;
    uintptr_t end;
};

struct sp_cie {
    uintptr_t address; /* of its length field; 0: nothing read yet */
    uintptr_t instructions, instructions_end;
    uint64_t code_alignment;
    int64_t data_alignment;
    uint8_t return_register;
    uint8_t pointer_encoding;   /* of addresses in its FDEs */
    bool augmentation_has_size; /* 'z': so have its FDEs' */
    bool signal_frame;          /* 'S' */
};

struct sp_fde {
    uintptr_t lo, hi;
    uintptr_t instructions, instructions_end;
    struct sp_cie cie;
};

/* Reads the length of the entry at an address. SP_CFI_NONE: it is the terminator. */
enum sp_cfi_status sp_entry_read(const struct sp_cfi_tables *tables, uintptr_t address, struct sp_entry *entry);

/*
 * Reads the FDE in an entry, and its CIE. SP_CFI_NONE: the entry is a CIE, or an FDE whose function the linker dropped.
 * fde->cie.address must be 0 or that of a CIE which fde->cie holds: it is then not read again.
 */
enum sp_cfi_status sp_fde_read(const struct sp_cfi_tables *tables, const struct sp_entry *entry, struct sp_fde *fde);

#endif
