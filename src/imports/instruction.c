/* SPDX-License-Identifier: MIT */
#include "imports/instruction.h"

#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };
#define BIT(number) (1u << (number))

struct decoder {
    const unsigned char *at, *end;
    struct instruction *out;
    unsigned rex; /* REX.W 8, .R 4, .X 2, .B 1; 0x40 where there is a REX prefix */
    bool operand_16, failed;
};

static unsigned char take(struct decoder *decoder)
{
    if (decoder->at == decoder->end) {
        decoder->failed = true;
        return 0;
    }
    return *decoder->at++;
}

static int64_t take_signed(struct decoder *decoder, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)take(decoder) << 8 * i;
    unsigned unused = size ? 64 - 8 * size : 0;
    return (int64_t)(value << unused) >> unused;
}

/* A byte register 4 to 7 without REX is the second byte of register 0 to 3. */
static uint8_t byte_register(const struct decoder *decoder, unsigned number)
{
    return (uint8_t)(!decoder->rex && number >= 4 && number < 8 ? number - 4 : number);
}

static void take_modrm(struct decoder *decoder)
{
    struct instruction *out = decoder->out;
    unsigned modrm = take(decoder), mod = modrm >> 6, rm = modrm & 7;
    out->has_modrm = true;
    out->extension = modrm >> 3 & 7;
    out->reg = (uint8_t)(out->extension | (decoder->rex & 4 ? 8 : 0));
    if (mod == 3) {
        out->rm = (uint8_t)(rm | (decoder->rex & 1 ? 8 : 0));
        return;
    }
    out->memory = true;
    if (rm == 4) {
        unsigned sib = take(decoder), index = (sib >> 3 & 7) | (decoder->rex & 2 ? 8 : 0);
        out->index = index == RSP ? NO_REGISTER : (uint8_t)index;
        if ((sib & 7) == 5 && mod == 0)
            mod = 2;
        else
            out->base = (uint8_t)((sib & 7) | (decoder->rex & 1 ? 8 : 0));
    } else if (rm == 5 && mod == 0) {
        out->rip_relative = true;
        mod = 2;
    } else {
        out->base = (uint8_t)(rm | (decoder->rex & 1 ? 8 : 0));
    }
    take_signed(decoder, mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static void relative(struct decoder *decoder, enum flow flow, unsigned size)
{
    int64_t distance = take_signed(decoder, size);
    decoder->out->flow = flow;
    decoder->out->target = (const unsigned char *)((uintptr_t)decoder->at + (uintptr_t)distance);
}

static unsigned immediate_size(const struct decoder *decoder)
{
    return decoder->operand_16 ? 2 : 4;
}

/* The instructions on 00 to 3f: eight groups of add's shape. */
static bool decode_arithmetic(struct decoder *decoder, unsigned opcode)
{
    struct instruction *out = decoder->out;
    unsigned shape = opcode & 7;
    if (shape < 4) {
        take_modrm(decoder);
        if (!(shape & 1)) {
            out->reg = byte_register(decoder, out->reg);
            out->rm = byte_register(decoder, out->rm);
        }
        return true;
    }
    out->implicit = BIT(RAX);
    out->immediate = take_signed(decoder, shape == 4 ? 1 : immediate_size(decoder));
    return shape < 6;
}

/* Those with a ModRM byte and without a branch; the reg field is made NO_REGISTER where it extends the opcode. */
static void decode_modrm(struct decoder *decoder, unsigned opcode)
{
    struct instruction *out = decoder->out;
    take_modrm(decoder);
    bool bytes = opcode == 0x80 || opcode == 0x84 || opcode == 0x86 || opcode == 0x88 || opcode == 0x8a ||
                 opcode == 0xc0 || opcode == 0xc6 || opcode == 0xd0 || opcode == 0xd2 || opcode == 0xf6 ||
                 opcode == 0xfe;
    if (bytes) {
        out->reg = byte_register(decoder, out->reg);
        out->rm = out->memory ? NO_REGISTER : byte_register(decoder, out->rm);
    }
    bool extended = opcode == 0x80 || opcode == 0x81 || opcode == 0x83 || opcode == 0x8f ||
                    (opcode >= 0xc0 && opcode <= 0xc7) || (opcode >= 0xd0 && opcode <= 0xd3) || opcode >= 0xf6;
    if (extended || (opcode >= 0xd8 && opcode <= 0xdf))
        out->reg = NO_REGISTER;
    if (opcode >= 0xd8 && opcode <= 0xdf) { /* x87: only fnstsw %ax names a general register */
        out->rm = NO_REGISTER;
        out->implicit = opcode == 0xdf && !out->memory && out->extension == 4 ? BIT(RAX) : 0;
    }
    if (opcode == 0xd2 || opcode == 0xd3)
        out->implicit = BIT(RCX);
    if ((opcode == 0xf6 || opcode == 0xf7) && out->extension >= 4)
        out->implicit = BIT(RAX) | BIT(RDX);
    bool tests = (opcode == 0xf6 || opcode == 0xf7) && out->extension < 2;
    if (opcode == 0x80 || opcode == 0x83 || opcode == 0x6b || opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 ||
        (tests && opcode == 0xf6))
        out->immediate = take_signed(decoder, 1);
    else if (opcode == 0x81 || opcode == 0x69 || opcode == 0xc7 || (tests && opcode == 0xf7))
        out->immediate = take_signed(decoder, immediate_size(decoder));
}

static void decode_group_ff(struct decoder *decoder)
{
    struct instruction *out = decoder->out;
    take_modrm(decoder);
    out->reg = NO_REGISTER;
    if (out->extension == 2 || out->extension == 3)
        out->flow = FLOW_CALL;
    else if (out->extension == 4 || out->extension == 5)
        out->flow = out->memory ? FLOW_JUMP_MEMORY : FLOW_JUMP_REGISTER;
}

static bool decode_one_byte(struct decoder *decoder, unsigned opcode)
{
    struct instruction *out = decoder->out;
    const unsigned strings = BIT(RSI) | BIT(RDI) | BIT(RAX) | BIT(RCX);
    if (opcode < 0x40)
        return decode_arithmetic(decoder, opcode);
    if (opcode >= 0x50 && opcode <= 0x5f) {
        out->opcode_register = (uint8_t)((opcode & 7) | (decoder->rex & 1 ? 8 : 0));
    } else if (opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || (opcode >= 0x80 && opcode <= 0x8f) ||
               opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
               (opcode >= 0xd0 && opcode <= 0xd3) || (opcode >= 0xd8 && opcode <= 0xdf) || opcode == 0xf6 ||
               opcode == 0xf7 || opcode == 0xfe) {
        if (opcode == 0x82)
            return false;
        decode_modrm(decoder, opcode);
    } else if (opcode == 0x68) {
        out->immediate = take_signed(decoder, immediate_size(decoder));
    } else if (opcode == 0x6a) {
        out->immediate = take_signed(decoder, 1);
    } else if (opcode >= 0x70 && opcode <= 0x7f) {
        relative(decoder, FLOW_BRANCH, 1);
    } else if (opcode >= 0x90 && opcode <= 0x97) {
        if (opcode != 0x90 || decoder->rex & 1) {
            out->opcode_register = (uint8_t)((opcode & 7) | (decoder->rex & 1 ? 8 : 0));
            out->implicit = BIT(RAX);
        }
    } else if (opcode == 0x98 || opcode == 0x99) {
        out->implicit = BIT(RAX) | BIT(RDX);
    } else if (opcode == 0xa8 || opcode == 0xa9) {
        out->implicit = BIT(RAX);
        out->immediate = take_signed(decoder, opcode == 0xa8 ? 1 : immediate_size(decoder));
    } else if ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf)) {
        out->implicit = (uint16_t)strings;
    } else if (opcode >= 0xb0 && opcode <= 0xbf) {
        unsigned number = (opcode & 7) | (decoder->rex & 1 ? 8 : 0);
        out->opcode_register = opcode < 0xb8 ? byte_register(decoder, number) : (uint8_t)number;
        out->immediate = take_signed(decoder, opcode < 0xb8 ? 1 : out->wide ? 8 : immediate_size(decoder));
    } else if (opcode == 0xc2 || opcode == 0xc3) {
        out->flow = FLOW_RETURN;
        take_signed(decoder, opcode == 0xc2 ? 2 : 0);
    } else if (opcode == 0xc9) {
        out->implicit = BIT(RBP);
    } else if (opcode == 0xcc || opcode == 0xf4) {
        out->flow = FLOW_STOP;
    } else if (opcode >= 0xe0 && opcode <= 0xe3) {
        out->implicit = BIT(RCX);
        relative(decoder, FLOW_BRANCH, 1);
    } else if (opcode == 0xe8 || opcode == 0xe9) {
        relative(decoder, opcode == 0xe8 ? FLOW_CALL : FLOW_JUMP, 4);
    } else if (opcode == 0xeb) {
        relative(decoder, FLOW_JUMP, 1);
    } else if (opcode == 0xff) {
        decode_group_ff(decoder);
    } else {
        return opcode == 0x9b || (opcode >= 0xf8 && opcode <= 0xfd) || opcode == 0xf5;
    }
    return true;
}

/* Whether ModRM names no general register on the 0f map, but by a memory operand: SSE and AVX arithmetic and moves. */
static bool names_vectors(unsigned opcode)
{
    return (opcode >= 0x10 && opcode <= 0x17) || opcode == 0x28 || opcode == 0x29 || opcode == 0x2b || opcode == 0x2e ||
           opcode == 0x2f || (opcode >= 0x51 && opcode <= 0x6d) || opcode == 0x6f ||
           (opcode >= 0x70 && opcode <= 0x76) || opcode == 0x7c || opcode == 0x7d || opcode == 0x7f || opcode == 0xc2 ||
           opcode == 0xc6 || (opcode >= 0xd0 && opcode != 0xd7);
}

static bool decode_0f(struct decoder *decoder, unsigned opcode)
{
    struct instruction *out = decoder->out;
    if (opcode >= 0x80 && opcode <= 0x8f && !out->vector) {
        relative(decoder, FLOW_BRANCH, 4);
        return true;
    }
    if (opcode == 0x0b || opcode == 0xb9 || opcode == 0xff) {
        out->flow = FLOW_STOP;
        return !out->vector || opcode == 0xff;
    }
    if (opcode == 0x05 || opcode == 0x31 || opcode == 0xa2) { /* syscall, rdtsc, cpuid: too many registers to tell */
        out->implicit = 0xffff;
        return true;
    }
    if (opcode == 0x77)
        return true;
    if (opcode >= 0xc8 && opcode <= 0xcf) {
        out->opcode_register = (uint8_t)((opcode & 7) | (decoder->rex & 1 ? 8 : 0));
        return true;
    }
    bool known = opcode == 0x0d || (opcode >= 0x10 && opcode <= 0x1f) || (opcode >= 0x28 && opcode <= 0x2f) ||
                 (opcode >= 0x40 && opcode <= 0x7f) || (opcode >= 0x90 && opcode <= 0x9f) || opcode == 0xa3 ||
                 opcode == 0xa4 || opcode == 0xa5 ||
                 (opcode >= 0xab && opcode <= 0xc7 && opcode != 0xb2 && opcode != 0xb4 && opcode != 0xb5) ||
                 (opcode >= 0xd0 && opcode < 0xff);
    if (!known)
        return false;
    take_modrm(decoder);
    if ((opcode >= 0x18 && opcode <= 0x1f) || opcode == 0x0d)
        out->reg = out->rm = NO_REGISTER; /* prefetches and nops, endbr64 among them */
    else if (names_vectors(opcode))
        out->reg = out->rm = NO_REGISTER;
    else if (opcode == 0xae || opcode == 0xba || (opcode >= 0x90 && opcode <= 0x9f))
        out->reg = NO_REGISTER;
    if (opcode >= 0x90 && opcode <= 0x9f && !out->memory)
        out->rm = byte_register(decoder, out->rm);
    if (opcode == 0xb0 || opcode == 0xb1)
        out->implicit = BIT(RAX);
    if (opcode == 0xc7)
        out->implicit = 0xffff;
    if (opcode == 0xa5 || opcode == 0xad)
        out->implicit = BIT(RCX);
    if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xa4 || opcode == 0xac || opcode == 0xba || opcode == 0xc2 ||
        opcode == 0xc4 || opcode == 0xc5 || opcode == 0xc6)
        out->immediate = take_signed(decoder, 1);
    return true;
}

static bool decode_map(struct decoder *decoder)
{
    struct instruction *out = decoder->out;
    unsigned opcode = out->opcode = take(decoder);
    if (out->map == MAP_0F)
        return decode_0f(decoder, opcode);
    take_modrm(decoder);
    if (out->vector && out->map == MAP_0F38 && opcode == 0xf6)
        out->implicit = BIT(RDX); /* mulx */
    if (out->map == MAP_0F3A)
        out->immediate = take_signed(decoder, 1);
    return true;
}

/* VEX in 2 or 3 bytes, EVEX in 4. A register in its vvvv field counts as used: it may be a general one. */
static bool decode_vector(struct decoder *decoder, unsigned escape)
{
    struct instruction *out = decoder->out;
    unsigned first = take(decoder), second = escape == 0xc5 ? first : take(decoder),
             map = escape == 0xc5 ? 1 : first & 7;
    if (escape == 0x62)
        take(decoder);
    if (map < 1 || map > 3)
        return false;
    out->vector = true;
    out->map = (enum opcode_map)map;
    out->wide = escape != 0xc5 && second & 0x80;
    decoder->rex = 0x40 | (first & 0x80 ? 0 : 4);
    if (escape != 0xc5)
        decoder->rex |= (first & 0x40 ? 0 : 2) | (first & 0x20 ? 0 : 1);
    if (!decode_map(decoder))
        return false;
    if (map != 1)
        out->implicit |= (uint16_t)BIT(~(second >> 3) & 15);
    return true;
}

static bool decode_prefixed(struct decoder *decoder)
{
    struct instruction *out = decoder->out;
    unsigned byte = take(decoder);
    while (byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x26 ||
           byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65) {
        decoder->operand_16 |= byte == 0x66;
        byte = take(decoder);
    }
    if ((byte & 0xf0) == 0x40) {
        decoder->rex = byte;
        out->wide = byte & 8;
        byte = take(decoder);
    }
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
        return decode_vector(decoder, byte);
    if (byte != 0x0f) {
        out->opcode = (uint8_t)byte;
        return decode_one_byte(decoder, byte);
    }
    out->map = MAP_0F;
    if (decoder->at < decoder->end && (*decoder->at == 0x38 || *decoder->at == 0x3a))
        out->map = take(decoder) == 0x38 ? MAP_0F38 : MAP_0F3A;
    return decode_map(decoder);
}

bool imports_decode(const unsigned char *code, size_t size, struct instruction *instruction)
{
    struct decoder decoder = {.at = code, .end = code + (size < 15 ? size : 15), .out = instruction};
    memset(instruction, 0, sizeof *instruction);
    instruction->reg = instruction->rm = instruction->base = instruction->index = instruction->opcode_register =
        NO_REGISTER;
    bool known = decode_prefixed(&decoder);
    instruction->next = decoder.at;
    return known && !decoder.failed;
}
