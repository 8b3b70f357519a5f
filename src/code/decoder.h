/* SPDX-License-Identifier: MIT */
/* An instruction being decoded: its parts, before it is said what they do. */
#ifndef SPWALK_CODE_DECODER_H
#define SPWALK_CODE_DECODER_H

#include "cfi/bytes.h"
#include "code/instruction.h"
#include "code/opcodes.h"

#define REX_W 8
#define REX_R 4
#define REX_X 2
#define REX_B 1

enum map { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_VECTOR };

struct decoder {
    struct sp_bytes bytes;
    struct sp_instruction *out;
    bool operand_size, address_size, lock, segment_fs_gs, rex_present;
    uint8_t repeat; /* 0xf2, 0xf3 or 0: the last such prefix */
    uint8_t rex;    /* also what VEX, EVEX and XOP have in its place */
    enum map map;
    uint8_t opcode;
    uint8_t flags;
    uint8_t vvvv;         /* of VEX and XOP: a register, or SP_HW_NONE */
    uint8_t vector;       /* bytes that a vector store may have; 0: no vector prefix */
    bool disp8_scaled;    /* EVEX */
    uint8_t mod, reg, rm; /* of ModRM; reg without REX */
    uintptr_t slot;       /* the address of a rip-relative operand, less that of the next instruction, where is_slot */
    bool is_slot;
};

static inline void write_register(struct decoder *decoder, unsigned number)
{
    decoder->out->written |= (uint16_t)(1u << number);
}

/* A register operand of the opcode's width, in which 4..7 may be ah..bh. */
static inline unsigned operand_register(const struct decoder *decoder, unsigned number)
{
    if (decoder->flags & SP_OP_BYTE && !decoder->rex_present && decoder->vector == 0 && number >= 4 && number < 8)
        return number - 4;
    return number;
}

static inline unsigned reg_operand(const struct decoder *decoder)
{
    return operand_register(decoder, decoder->reg | (decoder->rex & REX_R ? 8u : 0u));
}

static inline unsigned rm_operand(const struct decoder *decoder)
{
    return operand_register(decoder, decoder->rm | (decoder->rex & REX_B ? 8u : 0u));
}

static inline bool is_wide(const struct decoder *decoder)
{
    return decoder->rex & REX_W;
}

/* Sets the operation, and what the opcode's flags don't say of the registers written. */
void sp_operation_set(struct decoder *decoder);

#endif
