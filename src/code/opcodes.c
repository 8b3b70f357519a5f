/* SPDX-License-Identifier: MIT */
#include "opcodes.h"

#define M SP_OP_MODRM
#define I8 SP_OP_IMM8
#define IZ SP_OP_IMMZ
#define R SP_OP_REG
#define W SP_OP_RM
#define V SP_OP_MEM
#define B SP_OP_BYTE
#define X SP_OP_STOP

/* add, or, adc, sbb, and, sub, xor: to memory or register, from them, to the accumulator. */
#define ARITHMETIC(base)                                                                                               \
    [base] = M | W | B, [base + 1] = M | W, [base + 2] = M | R | B, [base + 3] = M | R, [base + 4] = I8, [base + 5] = IZ

const uint8_t sp_opcodes[256] = {
    ARITHMETIC(0x00),
    ARITHMETIC(0x08),
    ARITHMETIC(0x10),
    ARITHMETIC(0x18),
    ARITHMETIC(0x20),
    ARITHMETIC(0x28),
    ARITHMETIC(0x30),
    [0x06 ... 0x07] = X,
    [0x0e] = X,
    [0x16 ... 0x17] = X,
    [0x1e ... 0x1f] = X,
    [0x27] = X,
    [0x2f] = X,
    [0x37] = X,
    [0x38 ... 0x3b] = M,
    [0x3c] = I8,
    [0x3d] = IZ,
    [0x3f] = X,
    [0x60 ... 0x62] = X,
    [0x63] = M | R,
    [0x68] = IZ,
    [0x69] = M | R | IZ,
    [0x6a] = I8,
    [0x6b] = M | R | I8,
    [0x6c ... 0x6f] = X,
    [0x70 ... 0x7f] = I8,
    [0x80] = M | W | I8 | B,
    [0x81] = M | W | IZ,
    [0x82] = X,
    [0x83] = M | W | I8,
    [0x84 ... 0x85] = M,
    [0x86] = M | R | W | B,
    [0x87] = M | R | W,
    [0x88] = M | W | B,
    [0x89] = M | W,
    [0x8a] = M | R | B,
    [0x8b] = M | R,
    [0x8c] = M | W,
    [0x8d] = M | R,
    [0x8e] = M | X,
    [0x8f] = M | W,
    [0x9a] = X,
    [0xa8] = I8,
    [0xa9] = IZ,
    [0xb0 ... 0xb7] = I8,
    [0xb8 ... 0xbf] = IZ,
    [0xc0] = M | W | I8 | B,
    [0xc1] = M | W | I8,
    [0xc6] = M | W | I8 | B,
    [0xc7] = M | W | IZ,
    [0xca ... 0xcc] = X,
    [0xcd] = I8 | X,
    [0xce ... 0xcf] = X,
    [0xd0] = M | W | B,
    [0xd1] = M | W,
    [0xd2] = M | W | B,
    [0xd3] = M | W,
    [0xd4 ... 0xd6] = X,
    [0xd8 ... 0xdf] = M | V,
    [0xe0 ... 0xe3] = I8,
    [0xe4 ... 0xe7] = I8 | X,
    [0xe8 ... 0xe9] = IZ,
    [0xea] = X,
    [0xeb] = I8,
    [0xec ... 0xef] = X,
    [0xf1] = X,
    [0xf4] = X,
    [0xf6] = M | W | B,
    [0xf7] = M | W,
    [0xfa ... 0xfb] = X,
    [0xfe] = M | W | B,
    [0xff] = M | W,
};

const uint8_t sp_opcodes_0f[256] = {
    [0x00] = M | X,
    [0x01] = M,
    [0x02 ... 0x03] = M | X,
    [0x04] = X,
    [0x06 ... 0x0c] = X,
    [0x0d] = M,
    [0x0f] = M | I8,
    [0x10] = M,
    [0x11] = M | V,
    [0x12] = M,
    [0x13] = M | V,
    [0x14 ... 0x16] = M,
    [0x17] = M | V,
    [0x18 ... 0x1f] = M,
    [0x20 ... 0x23] = M | X,
    [0x24 ... 0x27] = X,
    [0x28] = M,
    [0x29] = M | V,
    [0x2a] = M,
    [0x2b] = M | V,
    [0x2c ... 0x2d] = M | R,
    [0x2e ... 0x2f] = M,
    [0x30] = X,
    [0x32 ... 0x37] = X,
    [0x39] = X,
    [0x3b ... 0x3f] = X,
    [0x40 ... 0x4f] = M | R,
    [0x50] = M | R,
    [0x51 ... 0x6f] = M,
    [0x70 ... 0x73] = M | I8,
    [0x74 ... 0x76] = M,
    [0x78 ... 0x79] = M | X,
    [0x7a ... 0x7b] = X,
    [0x7c ... 0x7d] = M,
    [0x7e] = M | W,
    [0x7f] = M | V,
    [0x80 ... 0x8f] = IZ,
    [0x90 ... 0x9f] = M | W | B,
    [0xa3] = M,
    [0xa4] = M | W | I8,
    [0xa5] = M | W,
    [0xa6 ... 0xa7] = M | X,
    [0xaa] = X,
    [0xab] = M | W,
    [0xac] = M | W | I8,
    [0xad] = M | W,
    [0xae] = M,
    [0xaf] = M | R,
    [0xb0] = M | W | B,
    [0xb1] = M | W,
    [0xb2] = M | X,
    [0xb3] = M | W,
    [0xb4 ... 0xb5] = M | X,
    [0xb6 ... 0xb7] = M | R,
    [0xb8] = M | R,
    [0xb9] = M | X,
    [0xba] = M | W | I8,
    [0xbb] = M | W,
    [0xbc ... 0xbf] = M | R,
    [0xc0] = M | R | W | B,
    [0xc1] = M | R | W,
    [0xc2] = M | I8,
    [0xc3] = M | V,
    [0xc4] = M | I8,
    [0xc5] = M | R | I8,
    [0xc6] = M | I8,
    [0xc7] = M,
    [0xd0 ... 0xd5] = M,
    [0xd6] = M | V,
    [0xd7] = M | R,
    [0xd8 ... 0xe6] = M,
    [0xe7] = M | V,
    [0xe8 ... 0xfe] = M,
    [0xff] = M | X,
};

uint8_t sp_opcode_0f38(uint8_t opcode)
{
    if (opcode >= 0x80 && opcode <= 0x82)
        return M | X;
    if (opcode == 0xf0)
        return M | R;
    if (opcode == 0xf1) /* movbe stores, crc32 does not: both are taken as writing both */
        return M | R | W;
    if (opcode == 0xf6)
        return M | R;
    return opcode >= 0xf0 ? M | V : M;
}

uint8_t sp_opcode_0f3a(uint8_t opcode)
{
    return opcode >= 0x14 && opcode <= 0x17 ? M | I8 | W : M | I8;
}

static uint8_t vector_0f(uint8_t opcode, unsigned prefix)
{
    switch (opcode) {
    case 0x77:
        return 0;
    case 0x70 ... 0x73:
    case 0xc2:
    case 0xc4:
    case 0xc6:
        return M | I8;
    case 0xc5:
        return M | R | I8;
    case 0x2c ... 0x2d: /* to integers: of scalars, whose prefix is F3 or F2 */
    case 0x78 ... 0x79:
        return prefix >= 2 ? M | R : M;
    case 0x50:
    case 0x93:
    case 0xd7:
        return M | R;
    case 0x7e:
        return prefix == 1 ? M | W : M;
    case 0x11:
    case 0x13:
    case 0x17:
    case 0x29:
    case 0x2b:
    case 0x7f:
    case 0x91:
    case 0xd6:
    case 0xe7:
        return M | V;
    default:
        return M;
    }
}

uint8_t sp_opcode_vector(unsigned map, uint8_t opcode, unsigned prefix)
{
    switch (map) {
    case 1:
        return vector_0f(opcode, prefix);
    case 2:
        if (opcode == 0xf3) /* blsr and its like: they write vvvv, see there */
            return M;
        return opcode >= 0xf2 && opcode <= 0xf7 ? M | R : M; /* andn, bzhi, pdep, mulx, bextr, sarx */
    case 3:
        if (opcode >= 0x14 && opcode <= 0x17)
            return M | I8 | W;
        return opcode == 0xf0 ? M | R | I8 : M | I8;
    case 5: /* EVEX, half precision */
    case 6:
        if (opcode == 0x2c || opcode == 0x2d || opcode == 0x78 || opcode == 0x79)
            return prefix >= 2 ? M | R : M;
        return opcode == 0x7e ? M | W : M;
    case 8: /* XOP */
        return M | I8;
    case 9: /* among them the bit operations of TBM, which write vvvv, see there */
        return M | R;
    case 10:
        return M | R | IZ;
    default:
        return X;
    }
}
