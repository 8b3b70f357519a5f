/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: what .eh_frame says about a pc.
 *
 *     a module's tables --find_row--> the row that holds at pc --evaluate--> values of its expressions
 *
 * Formats: DWARF 5, sections 2.5 (expressions) and 6.4 (call frame information); .eh_frame and .eh_frame_hdr as in the
 * Linux Standard Base Core 5.0, chapter 10.6; register numbers as in the System V psABI AMD64, figure 3.36.
 *
 * Everything here is for use inside signal handlers: no lock, no allocation, no system call, no recursion, errno
 * untouched, under 2 KiB of stack. No bytes in the tables can make it fault, read outside the segment it was given,
 * or run for longer than a time proportional to the segment's size. All functions are thread-safe and re-entrant.
 */
#ifndef SPWALK_CFI_H
#define SPWALK_CFI_H

#include <stdbool.h>
#include <stdint.h>

/* Registers by their DWARF numbers: 0..15 the general ones, 16 the return address. */
#define SP_CFI_REGISTERS 17
#define SP_CFI_RAX 0
#define SP_CFI_RDX 1
#define SP_CFI_RBX 3
#define SP_CFI_RBP 6
#define SP_CFI_RSP 7
#define SP_CFI_RA 16

/* Where a module's unwind tables lie in memory, as absolute addresses. */
struct sp_cfi_tables {
    uintptr_t hdr;        /* .eh_frame_hdr; 0: the module has none */
    uintptr_t hdr_end;    /* its end */
    uintptr_t eh_frame;   /* where hdr is 0: .eh_frame, if it was found without; else 0 */
    uintptr_t segment_lo; /* the readable extent that holds .eh_frame_hdr and .eh_frame; nothing outside it is read */
    uintptr_t segment_hi;
    uintptr_t
        got; /* base of DW_EH_PE_datarel in CIEs and FDEs, 0 if unknown; in .eh_frame_hdr the base is hdr itself */
};

enum sp_cfi_status {
    SP_CFI_OK = 0,
    SP_CFI_NONE, /* no FDE covers the pc */
    SP_CFI_BAD,  /* the tables are malformed there, or use what this reader does not support */
};

/* How the value that a register has in the caller is found. */
enum sp_cfi_rule_kind {
    SP_CFI_SAME = 0,       /* it has not changed; the default of all registers but rsp */
    SP_CFI_UNDEFINED,      /* it is lost; for the return address: there is no caller */
    SP_CFI_OFFSET,         /* it is saved at CFA + offset */
    SP_CFI_VAL_OFFSET,     /* it is CFA + offset; offset 0 is the default of rsp */
    SP_CFI_REGISTER,       /* it is what register `source` holds */
    SP_CFI_EXPRESSION,     /* it is saved at the address that the expression gives; the CFA is its initial value */
    SP_CFI_VAL_EXPRESSION, /* it is what the expression gives; the CFA is its initial value */
};

struct sp_cfi_rule {
    uint8_t kind; /* an enum sp_cfi_rule_kind */
    union {
        int32_t offset;
        uint32_t source;     /* 0..16 */
        uint32_t expression; /* a position to hand to sp_cfi_evaluate */
    };
};

/* How the CFA is found. */
enum sp_cfa_kind {
    SP_CFA_UNSET = 0,  /* never in a row that was found */
    SP_CFA_REGISTER,   /* register + offset */
    SP_CFA_EXPRESSION, /* what the expression gives, with no initial value */
};

struct sp_cfa {
    uint8_t kind;            /* an enum sp_cfa_kind */
    uint8_t register_number; /* 0..16 */
    union {
        int32_t offset;
        uint32_t expression;
    };
};

/* One row of the table that call frame information describes (DWARF 5, section 6.4.1). */
struct sp_cfi_row {
    uintptr_t lo, hi;                   /* the pcs [lo, hi) for which the row holds */
    uintptr_t function_lo, function_hi; /* those of its FDE */
    struct sp_cfa cfa;
    struct sp_cfi_rule rules[SP_CFI_REGISTERS];
    uint32_t args_size;      /* of the last DW_CFA_GNU_args_size, else 0 */
    uint8_t return_register; /* the column of the return address, 0..16; 16 in all code seen */
    bool signal_frame;       /* augmentation 'S': the caller was interrupted, so its pc is not a return address */
};

/*
 * Finds the row for a pc.
 *
 * tables: the module's; the memory [segment_lo, segment_hi) must stay mapped and readable during the call.
 * pc: the address to look up: an interrupted pc itself, but a return address less 1.
 * row: filled where SP_CFI_OK is returned, else its contents are undefined.
 *
 * The FDE is found by binary search in .eh_frame_hdr's table, or where that has no usable table by reading .eh_frame
 * from its start. SP_CFI_NONE also where the nearest FDE ends at or before pc.
 */
enum sp_cfi_status sp_cfi_find_row(const struct sp_cfi_tables *tables, uintptr_t pc, struct sp_cfi_row *row);

/*
 * Finds .eh_frame in a module without .eh_frame_hdr, as GCC links static programs: by what its entries look like.
 *
 * [lo, hi): a readable extent, its segment.
 * text_lo, text_hi: where the functions that it describes must lie.
 *
 * Returns its address, or 0 where there is none.
 */
uintptr_t sp_cfi_find_eh_frame(uintptr_t lo, uintptr_t hi, uintptr_t text_lo, uintptr_t text_hi);

/* The registers of the frame that a row belongs to. */
struct sp_cfi_registers {
    uint64_t value[SP_CFI_REGISTERS];
    uint32_t known; /* bit r: value[r] is known */
};

/*
 * Reads target memory for DW_OP_deref: size bytes (1, 2, 4 or 8) at address, little-endian, zero-extended into *word.
 * Returns false where that cannot be read; it must not fault.
 */
typedef bool sp_cfi_read(void *context, uintptr_t address, uint64_t *word, unsigned size);

enum sp_cfi_result {
    SP_CFI_VALUE = 0,
    SP_CFI_NEEDS_REGISTER, /* *needed is the first register that the expression uses and that is not known */
    SP_CFI_UNREADABLE,     /* read returned false */
    SP_CFI_INVALID,        /* malformed, not allowed in call frame information, or longer than 1000 steps */
};

/*
 * Evaluates a DWARF expression of a row.
 *
 * tables: those the row was found in.
 * expression: the position from a rule or CFA of that row.
 * initial: the value on the stack at the start, or NULL for none.
 * read, context: how memory is read.
 * value: set where SP_CFI_VALUE is returned.
 * needed: set where SP_CFI_NEEDS_REGISTER is returned; may be NULL.
 */
enum sp_cfi_result sp_cfi_evaluate(const struct sp_cfi_tables *tables, uint32_t expression,
                                   const struct sp_cfi_registers *registers, const uint64_t *initial, sp_cfi_read *read,
                                   void *context, uint64_t *value, unsigned *needed);

#endif
