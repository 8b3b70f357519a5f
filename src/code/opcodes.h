/* SPDX-License-Identifier: MIT */
/* What follows an opcode, and which general registers it writes. */
#ifndef SPWALK_CODE_OPCODES_H
#define SPWALK_CODE_OPCODES_H

#include <stdint.h>

enum {
    SP_OP_MODRM = 1 << 0,
    SP_OP_IMM8 = 1 << 1,
    SP_OP_IMMZ = 1 << 2, /* 4 bytes, or 2 with an operand-size prefix */
    SP_OP_REG = 1 << 3,  /* writes the register in ModRM.reg */
    SP_OP_RM = 1 << 4,   /* writes the register or memory in ModRM.rm */
    SP_OP_MEM = 1 << 5,  /* writes memory in ModRM.rm, and where that is a register, none of the general ones */
    SP_OP_BYTE = 1 << 6, /* its operands are bytes, so that 4..7 without REX are ah..bh */
    SP_OP_STOP = 1 << 7, /* its length may be known, but not its effect */
};

/* By opcode. In sp_opcodes_0f38 and sp_opcodes_0f3a what has no entry has ModRM, the latter an 8-bit immediate. */
extern const uint8_t sp_opcodes[256];
extern const uint8_t sp_opcodes_0f[256];

/* The opcode maps that VEX, EVEX and XOP prefixes name. */
uint8_t sp_opcode_0f38(uint8_t opcode);
uint8_t sp_opcode_0f3a(uint8_t opcode);
uint8_t sp_opcode_vector(unsigned map, uint8_t opcode, unsigned prefix);

#endif
