/* SPDX-License-Identifier: MIT */
/* Encoded pointers (Linux Standard Base Core 5.0, section 10.5, and GCC's DW_EH_PE_aligned and funcrel). */
#ifndef SPWALK_CFI_ENCODING_H
#define SPWALK_CFI_ENCODING_H

#include "bytes.h"
#include "cfi.h"

/* The format, the low four bits of an encoding. */
enum {
    SP_PE_ABSPTR = 0x00,
    SP_PE_ULEB128 = 0x01,
    SP_PE_UDATA2 = 0x02,
    SP_PE_UDATA4 = 0x03,
    SP_PE_UDATA8 = 0x04,
    SP_PE_SIGNED = 0x08,
    SP_PE_SLEB128 = 0x09,
    SP_PE_SDATA2 = 0x0a,
    SP_PE_SDATA4 = 0x0b,
    SP_PE_SDATA8 = 0x0c,
    SP_PE_FORMAT = 0x0f,
};

/* What the value is relative to, the next three bits. */
enum {
    SP_PE_PCREL = 0x10,
    SP_PE_TEXTREL = 0x20,
    SP_PE_DATAREL = 0x30,
    SP_PE_FUNCREL = 0x40,
    SP_PE_ALIGNED = 0x50,
    SP_PE_APPLICATION = 0x70,
};

#define SP_PE_INDIRECT 0x80
#define SP_PE_OMIT 0xff

/* The bases that a pointer may be relative to; 0: unknown. textrel has none on x86-64. */
struct sp_encoding_bases {
    uintptr_t data;
    uintptr_t function;
};

/* Reads a value in an encoding's format, relative to nothing. */
uint64_t sp_encoding_value(struct sp_bytes *bytes, uint8_t encoding);

/*
 * Reads an encoded pointer. A stored 0 is a null pointer whatever the encoding, as in GCC's unwinder. An indirect one
 * is followed inside the tables' segment. What cannot be read makes `bytes` bad.
 */
uintptr_t sp_encoding_pointer(struct sp_bytes *bytes, uint8_t encoding, const struct sp_encoding_bases *bases,
                              const struct sp_cfi_tables *tables);

/* The size of a format if that is fixed, else 0. */
unsigned sp_encoding_size(uint8_t encoding);

#endif
