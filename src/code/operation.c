/* SPDX-License-Identifier: MIT */
/* What an instruction does, where that is more than its opcode's flags say. */
#include "code/decoder.h"

static void set_operation(struct decoder *decoder, enum sp_operation operation)
{
    decoder->out->operation = operation;
}

static void stop(struct decoder *decoder)
{
    set_operation(decoder, SP_STOP);
}

static void set_jump(struct decoder *decoder, enum sp_operation operation)
{
    if (decoder->operand_size && !is_wide(decoder)) { /* two bytes of target on AMD, four on Intel */
        stop(decoder);
        return;
    }
    set_operation(decoder, operation);
    decoder->out->target = decoder->bytes.at + (uintptr_t)decoder->out->immediate;
}

/* 64 bits whatever REX.W says, but 16 with an operand-size prefix, which no code has. */
static void set_push_or_pop(struct decoder *decoder, enum sp_operation operation, unsigned number)
{
    if (decoder->operand_size) {
        stop(decoder);
        return;
    }
    set_operation(decoder, operation);
    if (operation == SP_PUSH)
        decoder->out->source = (uint8_t)number;
    else
        decoder->out->destination = (uint8_t)number;
}

static void set_group5(struct decoder *decoder)
{
    struct sp_instruction *out = decoder->out;
    unsigned number = decoder->mod == 3 ? rm_operand(decoder) : SP_HW_NONE;
    if (decoder->reg >= 2) {
        out->written = 0;
        out->stored = 0;
    }
    switch (decoder->reg) {
    case 0:
    case 1:
        break;
    case 2:
        set_operation(decoder, decoder->is_slot ? SP_CALL_SLOT : SP_CALL);
        if (decoder->is_slot)
            out->target = decoder->bytes.at + decoder->slot;
        break;
    case 4:
        set_operation(decoder, decoder->is_slot ? SP_JUMP_SLOT : SP_JUMP_AWAY);
        if (decoder->is_slot)
            out->target = decoder->bytes.at + decoder->slot;
        else
            out->source = (uint8_t)number;
        break;
    case 6:
        set_push_or_pop(decoder, SP_PUSH, number);
        if (out->operation == SP_PUSH && decoder->is_slot) {
            set_operation(decoder, SP_PUSH_SLOT);
            out->target = decoder->bytes.at + decoder->slot;
        }
        break;
    default:
        stop(decoder);
    }
}

/* add, sub and the rest of 81 and 83, of which the first two may move rsp. */
static void set_arithmetic_immediate(struct decoder *decoder)
{
    struct sp_instruction *out = decoder->out;
    if (decoder->reg == 7) { /* cmp */
        out->written = 0;
        out->stored = 0;
    } else if ((decoder->reg == 0 || decoder->reg == 5) && decoder->mod == 3 && is_wide(decoder) &&
               decoder->opcode != 0x80) {
        set_operation(decoder, SP_ADD);
        out->destination = (uint8_t)rm_operand(decoder);
        if (decoder->reg == 5)
            out->immediate = -out->immediate;
    }
}

static void set_move(struct decoder *decoder)
{
    struct sp_instruction *out = decoder->out;
    bool to_rm = decoder->opcode == 0x89;
    if (!is_wide(decoder) || decoder->lock)
        return;
    if (decoder->mod == 3) {
        set_operation(decoder, SP_MOVE);
        out->source = (uint8_t)(to_rm ? reg_operand(decoder) : rm_operand(decoder));
        out->destination = (uint8_t)(to_rm ? rm_operand(decoder) : reg_operand(decoder));
    } else if (to_rm) {
        set_operation(decoder, SP_STORE);
        out->source = (uint8_t)reg_operand(decoder);
    } else {
        set_operation(decoder, SP_LOAD);
        out->destination = (uint8_t)reg_operand(decoder);
    }
}

static void set_one_byte(struct decoder *decoder)
{
    struct sp_instruction *out = decoder->out;
    uint8_t opcode = decoder->opcode;
    unsigned low = (opcode & 7) | (decoder->rex & REX_B ? 8u : 0u);
    switch (opcode) {
    case 0x04 ... 0x05:
    case 0x0c ... 0x0d:
    case 0x14 ... 0x15:
    case 0x1c ... 0x1d:
    case 0x24 ... 0x25:
    case 0x2c ... 0x2d:
    case 0x34 ... 0x35:
    case 0x98:
    case 0x9f:
    case 0xa0 ... 0xa1:
    case 0xd7:
        write_register(decoder, SP_HW_RAX);
        break;
    case 0x31:
    case 0x33: /* xor of a register with itself */
        if (decoder->mod == 3 && reg_operand(decoder) == rm_operand(decoder) && !decoder->operand_size) {
            set_operation(decoder, SP_CONSTANT);
            out->destination = (uint8_t)rm_operand(decoder);
            out->immediate = 0;
        }
        break;
    case 0x50 ... 0x57:
        set_push_or_pop(decoder, SP_PUSH, low);
        break;
    case 0x58 ... 0x5f:
        set_push_or_pop(decoder, SP_POP, low);
        break;
    case 0x68:
    case 0x6a:
    case 0x9c: /* pushf */
        set_push_or_pop(decoder, SP_PUSH, SP_HW_NONE);
        break;
    case 0x9d: /* popf */
        set_push_or_pop(decoder, SP_POP, SP_HW_NONE);
        break;
    case 0x8f:
        if (decoder->reg != 0)
            stop(decoder);
        else if (decoder->mod == 3)
            set_push_or_pop(decoder, SP_POP, rm_operand(decoder));
        else
            set_push_or_pop(decoder, SP_POP, SP_HW_NONE);
        break;
    case 0x70 ... 0x7f:
    case 0xe0 ... 0xe3:
        set_jump(decoder, SP_BRANCH);
        if (opcode >= 0xe0)
            write_register(decoder, SP_HW_RCX);
        break;
    case 0x80 ... 0x81:
    case 0x83:
        set_arithmetic_immediate(decoder);
        break;
    case 0x89:
    case 0x8b:
        set_move(decoder);
        break;
    case 0x8d:
        if (decoder->mod == 3)
            stop(decoder);
        else if (is_wide(decoder) && !decoder->address_size && !decoder->is_slot) {
            set_operation(decoder, SP_ADDRESS);
            out->destination = (uint8_t)reg_operand(decoder);
        }
        break;
    case 0x90 ... 0x97: /* xchg with rax, among them nop */
        if (low != 0) {
            write_register(decoder, SP_HW_RAX);
            write_register(decoder, low);
        }
        break;
    case 0x99:
        write_register(decoder, SP_HW_RDX);
        break;
    case 0xa4 ... 0xa7:
    case 0xaa ... 0xaf:
        out->written |= 1u << SP_HW_RAX | 1u << SP_HW_RCX | 1u << SP_HW_RSI | 1u << SP_HW_RDI;
        break;
    case 0xb0 ... 0xb7:
        write_register(decoder, !decoder->rex_present && low >= 4 ? low - 4 : low);
        break;
    case 0xb8 ... 0xbf:
        set_operation(decoder, decoder->operand_size ? SP_OTHER : SP_CONSTANT);
        write_register(decoder, low);
        out->destination = (uint8_t)low;
        if (!is_wide(decoder))
            out->immediate = (uint32_t)out->immediate;
        break;
    case 0xc7:
        if (decoder->reg != 0)
            stop(decoder);
        else if (decoder->mod == 3 && is_wide(decoder)) {
            set_operation(decoder, SP_CONSTANT);
            out->destination = (uint8_t)rm_operand(decoder);
        }
        break;
    case 0xc6:
        if (decoder->reg != 0)
            stop(decoder);
        break;
    case 0xc3:
        set_operation(decoder, decoder->operand_size ? SP_STOP : SP_RETURN);
        break;
    case 0xc9:
        set_operation(decoder, decoder->operand_size ? SP_STOP : SP_LEAVE);
        break;
    case 0xc2: /* takes arguments with it: not this ABI's */
    case 0xc8: /* enter */
        stop(decoder);
        break;
    case 0xdf: /* fnstsw %ax */
        if (decoder->mod == 3)
            write_register(decoder, SP_HW_RAX);
        break;
    case 0xe8:
        set_jump(decoder, SP_CALL);
        break;
    case 0xe9:
    case 0xeb:
        set_jump(decoder, SP_JUMP);
        break;
    case 0xf6 ... 0xf7:
        if (decoder->reg < 2 || decoder->reg >= 4) {
            out->written = 0;
            out->stored = 0;
        }
        if (decoder->reg >= 4)
            out->written = 1u << SP_HW_RAX | 1u << SP_HW_RDX;
        break;
    case 0xfe:
        if (decoder->reg >= 2)
            stop(decoder);
        break;
    case 0xff:
        set_group5(decoder);
        break;
    default:
        break;
    }
}

/* 0F 01 and its operand-less instructions; most of them are the system's. */
static void set_group7(struct decoder *decoder)
{
    switch (decoder->mod == 3 ? decoder->reg << 3 | decoder->rm : 0) {
    case 0x10: /* xgetbv */
    case 0x2e: /* rdpkru */
    case 0x39: /* rdtscp */
        decoder->out->written = 1u << SP_HW_RAX | 1u << SP_HW_RCX | 1u << SP_HW_RDX;
        break;
    case 0x15: /* xend */
    case 0x16: /* xtest */
    case 0x2f: /* wrpkru */
        break;
    default:
        stop(decoder);
    }
}

static void set_two_byte(struct decoder *decoder)
{
    struct sp_instruction *out = decoder->out;
    uint8_t opcode = decoder->opcode;
    switch (opcode) {
    case 0x01:
        set_group7(decoder);
        break;
    case 0x05:
        set_operation(decoder, SP_SYSCALL);
        break;
    case 0x1e:
        if (decoder->repeat == 0xf3 && decoder->mod == 3 && decoder->reg == 7 && decoder->rm == 2)
            set_operation(decoder, SP_ENDBR);
        else if (decoder->repeat == 0xf3 && decoder->mod == 3) /* rdssp */
            write_register(decoder, rm_operand(decoder));
        break;
    case 0x31:
        out->written = 1u << SP_HW_RAX | 1u << SP_HW_RDX;
        break;
    case 0x7e:
        if (decoder->repeat == 0xf3) { /* to a vector register */
            out->written = 0;
            out->stored = 0;
        }
        break;
    case 0x80 ... 0x8f:
        set_jump(decoder, SP_BRANCH);
        break;
    case 0xa0:
    case 0xa8:
        set_push_or_pop(decoder, SP_PUSH, SP_HW_NONE);
        break;
    case 0xa1:
    case 0xa9:
        set_push_or_pop(decoder, SP_POP, SP_HW_NONE);
        break;
    case 0xa2:
        out->written = 1u << SP_HW_RAX | 1u << SP_HW_RBX | 1u << SP_HW_RCX | 1u << SP_HW_RDX;
        break;
    case 0xae:
        if (decoder->mod == 3 && decoder->repeat == 0xf3 && decoder->reg < 2) /* rdfsbase, rdgsbase */
            write_register(decoder, rm_operand(decoder));
        break;
    case 0xb0 ... 0xb1:
        write_register(decoder, SP_HW_RAX);
        break;
    case 0xb8:
        if (decoder->repeat != 0xf3)
            stop(decoder);
        break;
    case 0xba:
        if (decoder->reg == 4) { /* bt */
            out->written = 0;
            out->stored = 0;
        } else if (decoder->reg < 4) {
            stop(decoder);
        }
        break;
    case 0xc7:
        if (decoder->mod != 3 && decoder->reg == 1)
            out->written = 1u << SP_HW_RAX | 1u << SP_HW_RDX;
        else if (decoder->mod == 3 && decoder->reg >= 6)
            write_register(decoder, rm_operand(decoder));
        else if (decoder->mod == 3)
            stop(decoder);
        break;
    case 0xc8 ... 0xcf:
        write_register(decoder, (opcode & 7) | (decoder->rex & REX_B ? 8u : 0u));
        break;
    default:
        break;
    }
}

void sp_operation_set(struct decoder *decoder)
{
    if (decoder->flags & SP_OP_STOP)
        stop(decoder);
    else if (decoder->map == MAP_ONE)
        set_one_byte(decoder);
    else if (decoder->map == MAP_0F)
        set_two_byte(decoder);
}
