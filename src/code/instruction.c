/* SPDX-License-Identifier: MIT */
#include "code/instruction.h"

#include "code/decoder.h"

#define LENGTH_MOST 15

/* Takes prefixes up to and with the last before the opcode. */
static void read_prefixes(struct decoder *decoder)
{
    for (unsigned i = 0; i < LENGTH_MOST; i++) {
        uint8_t byte = sp_bytes_u8(&decoder->bytes);
        if (byte >= 0x40 && byte <= 0x4f) {
            decoder->rex = byte & 0xf;
            decoder->rex_present = true;
            continue;
        }
        switch (byte) {
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
            break;
        case 0x64:
        case 0x65:
            decoder->segment_fs_gs = true;
            break;
        case 0x66:
            decoder->operand_size = true;
            break;
        case 0x67:
            decoder->address_size = true;
            break;
        case 0xf0:
            decoder->lock = true;
            break;
        case 0xf2:
        case 0xf3:
            decoder->repeat = byte;
            break;
        default:
            decoder->opcode = byte;
            return;
        }
        decoder->rex = 0; /* a REX that is not the last prefix has no effect */
        decoder->rex_present = false;
    }
    sp_bytes_fail(&decoder->bytes);
}

/* Reads what follows the first byte of a VEX, EVEX or XOP prefix, up to and with the opcode. */
static void read_vector_prefix(struct decoder *decoder)
{
    uint8_t first = decoder->opcode;
    if (decoder->operand_size || decoder->repeat || decoder->lock || decoder->rex_present)
        sp_bytes_fail(&decoder->bytes);
    uint8_t p0 = sp_bytes_u8(&decoder->bytes);
    uint8_t p1 = first == 0xc5 ? p0 : sp_bytes_u8(&decoder->bytes);
    unsigned map = 1;
    decoder->rex = p0 & 0x80 ? 0 : REX_R;
    decoder->vector = 32;
    if (first != 0xc5) {
        decoder->rex |= (p0 & 0x40 ? 0 : REX_X) | (p0 & 0x20 ? 0 : REX_B) | (p1 & 0x80 ? REX_W : 0);
        map = p0 & 0x1f;
    }
    if (first == 0x62) {
        if (p0 & 8 || !(p1 & 4)) /* the formats of APX */
            sp_bytes_fail(&decoder->bytes);
        map = p0 & 7;
        sp_bytes_u8(&decoder->bytes);
        decoder->vector = 64;
        decoder->disp8_scaled = true;
    }
    decoder->vvvv = ~p1 >> 3 & 0xf;
    unsigned prefix = p1 & 3; /* none, 66, F3, F2 */
    decoder->map = MAP_VECTOR;
    decoder->opcode = sp_bytes_u8(&decoder->bytes);
    decoder->flags = sp_opcode_vector(map, decoder->opcode, prefix);
    if (map >= 8 ? first != 0x8f : first == 0x8f)
        sp_bytes_fail(&decoder->bytes);
    if ((map == 2 && first != 0x62 && (decoder->opcode == 0xf3 || decoder->opcode == 0xf6)) || map >= 9)
        write_register(decoder, decoder->vvvv);
    if (decoder->flags == SP_OP_STOP)
        sp_bytes_fail(&decoder->bytes);
}

static bool is_vector_prefix(const struct decoder *decoder)
{
    if (decoder->opcode == 0xc4 || decoder->opcode == 0xc5 || decoder->opcode == 0x62)
        return true;
    /* XOP has a map of 8 or more where pop has 0 in ModRM.reg. */
    struct sp_bytes ahead = decoder->bytes;
    return decoder->opcode == 0x8f && (sp_bytes_u8(&ahead) & 0x1f) >= 8;
}

static void read_opcode(struct decoder *decoder)
{
    if (is_vector_prefix(decoder)) {
        read_vector_prefix(decoder);
        return;
    }
    decoder->flags = sp_opcodes[decoder->opcode];
    if (decoder->opcode != 0x0f)
        return;
    decoder->opcode = sp_bytes_u8(&decoder->bytes);
    decoder->map = MAP_0F;
    decoder->flags = sp_opcodes_0f[decoder->opcode];
    if (decoder->opcode == 0x38) {
        decoder->opcode = sp_bytes_u8(&decoder->bytes);
        decoder->map = MAP_0F38;
        decoder->flags = sp_opcode_0f38(decoder->opcode);
    } else if (decoder->opcode == 0x3a) {
        decoder->opcode = sp_bytes_u8(&decoder->bytes);
        decoder->map = MAP_0F3A;
        decoder->flags = sp_opcode_0f3a(decoder->opcode);
    }
}

static void read_modrm(struct decoder *decoder)
{
    struct sp_memory *memory = &decoder->out->memory;
    uint8_t modrm = sp_bytes_u8(&decoder->bytes);
    decoder->mod = modrm >> 6;
    decoder->reg = modrm >> 3 & 7;
    decoder->rm = modrm & 7;
    if (decoder->mod == 3)
        return;

    unsigned base = decoder->rm;
    if (decoder->rm == 4) {
        uint8_t sib = sp_bytes_u8(&decoder->bytes);
        unsigned index = (sib >> 3 & 7) | (decoder->rex & REX_X ? 8u : 0u);
        if (index != 4)
            memory->index = (uint8_t)index;
        base = sib & 7;
    } else if (decoder->rm == 5 && decoder->mod == 0) {
        decoder->is_slot = true;
        decoder->slot = (uintptr_t)(intptr_t)(int32_t)sp_bytes_u32(&decoder->bytes);
        return;
    }
    if (base != 5 || decoder->mod != 0)
        memory->base = (uint8_t)(base | (decoder->rex & REX_B ? 8u : 0u));
    if (decoder->mod == 1)
        memory->displacement = (int8_t)sp_bytes_u8(&decoder->bytes);
    else if (decoder->mod == 2 || base == 5)
        memory->displacement = (int32_t)sp_bytes_u32(&decoder->bytes);
    if (decoder->segment_fs_gs || decoder->address_size || (decoder->disp8_scaled && decoder->mod == 1))
        memory->base = SP_HW_NONE;
}

static void read_immediate(struct decoder *decoder)
{
    struct sp_bytes *bytes = &decoder->bytes;
    int64_t *immediate = &decoder->out->immediate;
    uint8_t opcode = decoder->opcode;
    if (decoder->map == MAP_ONE) {
        if ((opcode == 0xf6 || opcode == 0xf7) && decoder->reg < 2) /* test, of a group whose others have none */
            decoder->flags |= opcode == 0xf6 ? SP_OP_IMM8 : SP_OP_IMMZ;
        if (opcode >= 0xa0 && opcode <= 0xa3) {
            sp_bytes_skip(bytes, decoder->address_size ? 4 : 8);
        } else if (opcode == 0xc2 || opcode == 0xca) {
            sp_bytes_skip(bytes, 2);
        } else if (opcode == 0xc8) {
            sp_bytes_skip(bytes, 3);
        } else if (opcode >= 0xb8 && opcode <= 0xbf && is_wide(decoder)) {
            *immediate = (int64_t)sp_bytes_u64(bytes);
            return;
        }
    }
    if (decoder->flags & SP_OP_IMM8)
        *immediate = (int8_t)sp_bytes_u8(bytes);
    else if (decoder->flags & SP_OP_IMMZ && decoder->operand_size && !is_wide(decoder))
        *immediate = (int16_t)sp_bytes_u16(bytes);
    else if (decoder->flags & SP_OP_IMMZ)
        *immediate = (int32_t)sp_bytes_u32(bytes);
}

/* The registers and the memory that the flags say. */
static void write_operands(struct decoder *decoder)
{
    struct sp_instruction *out = decoder->out;
    if (decoder->flags & SP_OP_REG)
        write_register(decoder, reg_operand(decoder));
    if (decoder->flags & SP_OP_RM && decoder->mod == 3)
        write_register(decoder, rm_operand(decoder));
    if (decoder->flags & (SP_OP_RM | SP_OP_MEM) && decoder->mod != 3) {
        if (decoder->flags & SP_OP_MEM)
            out->stored = decoder->vector ? decoder->vector : 16;
        else
            out->stored = is_wide(decoder) ? 8 : 4;
    }
}

bool sp_instruction_read(uintptr_t at, uintptr_t end, struct sp_instruction *instruction)
{
    uintptr_t most = end - at > LENGTH_MOST ? at + LENGTH_MOST : end;
    if (at >= end)
        return false;
    *instruction = (struct sp_instruction){
        .source = SP_HW_NONE, .destination = SP_HW_NONE, .memory = {.base = SP_HW_NONE, .index = SP_HW_NONE}};
    struct decoder decoder = {.bytes = sp_bytes_make(at, most), .out = instruction, .vvvv = SP_HW_NONE};

    read_prefixes(&decoder);
    read_opcode(&decoder);
    if (decoder.flags & SP_OP_MODRM)
        read_modrm(&decoder);
    read_immediate(&decoder);
    if (decoder.bytes.bad)
        return false;
    instruction->length = (uint8_t)(decoder.bytes.at - at);
    write_operands(&decoder);
    sp_operation_set(&decoder);
    return true;
}
