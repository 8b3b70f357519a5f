/* SPDX-License-Identifier: MIT */
/*
 * DWARF expressions as call frame information has them: DWARF 5, section 2.5.1, less what section 6.4.2 excludes. An
 * operation yields one value, so those of location descriptions (section 2.6) are invalid too.
 */
#include "bytes.h"
#include "cfi.h"
#include "encoding.h"

/* GCC's and glibc's expressions use up to four. */
#define STACK_ENTRIES 32

/* Branches can form loops; no expression seen takes more than 30 steps. */
#define STEPS_MAX 1000

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_CONST8U = 0x0e,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
    OP_GNU_ENCODED_ADDR = 0xf1,
};

struct machine {
    const struct sp_cfi_tables *tables;
    const struct sp_cfi_registers *registers;
    sp_cfi_read *read;
    void *context;
    struct sp_bytes bytes;
    uintptr_t start; /* of the operations */
    enum sp_cfi_result result;
    unsigned needed;
    unsigned depth;
    uint64_t stack[STACK_ENTRIES];
};

static void stop(struct machine *machine, enum sp_cfi_result result)
{
    if (machine->result == SP_CFI_VALUE)
        machine->result = result;
    sp_bytes_fail(&machine->bytes);
}

static void push(struct machine *machine, uint64_t value)
{
    if (machine->depth == STACK_ENTRIES)
        stop(machine, SP_CFI_INVALID);
    else
        machine->stack[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
    if (machine->depth == 0) {
        stop(machine, SP_CFI_INVALID);
        return 0;
    }
    return machine->stack[--machine->depth];
}

/* Pushes a copy of the entry at an index from the top. */
static void pick(struct machine *machine, uint8_t index)
{
    if (index >= machine->depth)
        stop(machine, SP_CFI_INVALID);
    else
        push(machine, machine->stack[machine->depth - 1 - index]);
}

static void push_register(struct machine *machine, uint64_t number, int64_t offset)
{
    if (number >= SP_CFI_REGISTERS) {
        stop(machine, SP_CFI_INVALID);
    } else if (!(machine->registers->known >> number & 1)) {
        machine->needed = (unsigned)number;
        stop(machine, SP_CFI_NEEDS_REGISTER);
    } else {
        push(machine, machine->registers->value[number] + (uint64_t)offset);
    }
}

static void dereference(struct machine *machine, unsigned size)
{
    uint64_t address = pop(machine);
    uint64_t word = 0;
    if (machine->bytes.bad)
        return;
    if (size != 1 && size != 2 && size != 4 && size != 8)
        stop(machine, SP_CFI_INVALID);
    else if (!machine->read(machine->context, address, &word, size))
        stop(machine, SP_CFI_UNREADABLE);
    else
        push(machine, word);
}

/* Moves by a distance from the operation that follows; the end of the expression is a valid target. */
static void branch(struct machine *machine, int16_t distance, bool taken)
{
    if (!taken || machine->bytes.bad)
        return;
    uintptr_t from_start = machine->bytes.at - machine->start + (uintptr_t)(intptr_t)distance;
    if (from_start > machine->bytes.end - machine->start)
        stop(machine, SP_CFI_INVALID);
    else
        machine->bytes.at = machine->start + from_start;
}

static uint64_t divide(struct machine *machine, int64_t dividend, int64_t divisor)
{
    if (divisor == 0) {
        stop(machine, SP_CFI_INVALID);
        return 0;
    }
    return divisor == -1 ? -(uint64_t)dividend : (uint64_t)(dividend / divisor);
}

static uint64_t modulo(struct machine *machine, uint64_t dividend, uint64_t divisor)
{
    if (divisor == 0) {
        stop(machine, SP_CFI_INVALID);
        return 0;
    }
    return dividend % divisor;
}

static void execute_unary(struct machine *machine, uint8_t opcode)
{
    uint64_t operand = pop(machine);
    switch (opcode) {
    case OP_ABS:
        push(machine, (int64_t)operand < 0 ? -operand : operand);
        break;
    case OP_NEG:
        push(machine, -operand);
        break;
    default:
        push(machine, ~operand);
    }
}

/* All arithmetic is modulo 2^64; comparisons, division and shra are signed, and modulo is not (as in GCC and GDB). */
static void execute_binary(struct machine *machine, uint8_t opcode)
{
    uint64_t top = pop(machine);
    uint64_t second = pop(machine);
    switch (opcode) {
    case OP_AND:
        push(machine, second & top);
        break;
    case OP_DIV:
        push(machine, divide(machine, (int64_t)second, (int64_t)top));
        break;
    case OP_MINUS:
        push(machine, second - top);
        break;
    case OP_MOD:
        push(machine, modulo(machine, second, top));
        break;
    case OP_MUL:
        push(machine, second * top);
        break;
    case OP_OR:
        push(machine, second | top);
        break;
    case OP_PLUS:
        push(machine, second + top);
        break;
    case OP_SHL:
        push(machine, top < 64 ? second << top : 0);
        break;
    case OP_SHR:
        push(machine, top < 64 ? second >> top : 0);
        break;
    case OP_SHRA:
        push(machine, (uint64_t)((int64_t)second >> (top < 64 ? top : 63)));
        break;
    case OP_XOR:
        push(machine, second ^ top);
        break;
    case OP_EQ:
        push(machine, second == top);
        break;
    case OP_GE:
        push(machine, (int64_t)second >= (int64_t)top);
        break;
    case OP_GT:
        push(machine, (int64_t)second > (int64_t)top);
        break;
    case OP_LE:
        push(machine, (int64_t)second <= (int64_t)top);
        break;
    case OP_LT:
        push(machine, (int64_t)second < (int64_t)top);
        break;
    default:
        push(machine, second != top);
    }
}

static void push_encoded_address(struct machine *machine)
{
    const struct sp_encoding_bases bases = {machine->tables->got, 0};
    uint8_t encoding = sp_bytes_u8(&machine->bytes);
    push(machine, sp_encoding_pointer(&machine->bytes, encoding, &bases, machine->tables));
}

static void rotate(struct machine *machine)
{
    uint64_t first = pop(machine), second = pop(machine), third = pop(machine);
    push(machine, first);
    push(machine, third);
    push(machine, second);
}

static void swap(struct machine *machine)
{
    uint64_t first = pop(machine), second = pop(machine);
    push(machine, first);
    push(machine, second);
}

static void execute(struct machine *machine)
{
    struct sp_bytes *bytes = &machine->bytes;
    uint8_t opcode = sp_bytes_u8(bytes);
    if (opcode >= OP_LIT0 && opcode <= OP_LIT31) {
        push(machine, opcode - OP_LIT0);
        return;
    }
    if (opcode >= OP_BREG0 && opcode <= OP_BREG31) {
        push_register(machine, opcode - OP_BREG0, sp_bytes_sleb(bytes));
        return;
    }
    switch (opcode) {
    case OP_ADDR:
    case OP_CONST8U:
    case OP_CONST8S:
        push(machine, sp_bytes_u64(bytes));
        break;
    case OP_CONST1U:
        push(machine, sp_bytes_u8(bytes));
        break;
    case OP_CONST1S:
        push(machine, (uint64_t)(int64_t)(int8_t)sp_bytes_u8(bytes));
        break;
    case OP_CONST2U:
        push(machine, sp_bytes_u16(bytes));
        break;
    case OP_CONST2S:
        push(machine, (uint64_t)(int64_t)(int16_t)sp_bytes_u16(bytes));
        break;
    case OP_CONST4U:
        push(machine, sp_bytes_u32(bytes));
        break;
    case OP_CONST4S:
        push(machine, (uint64_t)(int64_t)(int32_t)sp_bytes_u32(bytes));
        break;
    case OP_CONSTU:
        push(machine, sp_bytes_uleb(bytes));
        break;
    case OP_CONSTS:
        push(machine, (uint64_t)sp_bytes_sleb(bytes));
        break;
    case OP_GNU_ENCODED_ADDR:
        push_encoded_address(machine);
        break;
    case OP_BREGX: {
        uint64_t number = sp_bytes_uleb(bytes);
        push_register(machine, number, sp_bytes_sleb(bytes));
        break;
    }
    case OP_DUP:
        pick(machine, 0);
        break;
    case OP_OVER:
        pick(machine, 1);
        break;
    case OP_PICK:
        pick(machine, sp_bytes_u8(bytes));
        break;
    case OP_DROP:
        pop(machine);
        break;
    case OP_SWAP:
        swap(machine);
        break;
    case OP_ROT:
        rotate(machine);
        break;
    case OP_DEREF:
        dereference(machine, 8);
        break;
    case OP_DEREF_SIZE:
        dereference(machine, sp_bytes_u8(bytes));
        break;
    case OP_ABS:
    case OP_NEG:
    case OP_NOT:
        execute_unary(machine, opcode);
        break;
    case OP_PLUS_UCONST:
        push(machine, pop(machine) + sp_bytes_uleb(bytes));
        break;
    case OP_BRA: {
        int16_t distance = (int16_t)sp_bytes_u16(bytes);
        branch(machine, distance, pop(machine) != 0);
        break;
    }
    case OP_SKIP:
        branch(machine, (int16_t)sp_bytes_u16(bytes), true);
        break;
    case OP_NOP:
        break;
    default:
        if ((opcode >= OP_AND && opcode <= OP_XOR) || (opcode >= OP_EQ && opcode <= OP_NE))
            execute_binary(machine, opcode);
        else
            stop(machine, SP_CFI_INVALID);
    }
}

enum sp_cfi_result sp_cfi_evaluate(const struct sp_cfi_tables *tables, uint32_t expression,
                                   const struct sp_cfi_registers *registers, const uint64_t *initial, sp_cfi_read *read,
                                   void *context, uint64_t *value, unsigned *needed)
{
    if (tables->segment_lo > tables->segment_hi || expression > tables->segment_hi - tables->segment_lo)
        return SP_CFI_INVALID;
    struct sp_bytes block = sp_bytes_make(tables->segment_lo + expression, tables->segment_hi);
    uint64_t length = sp_bytes_uleb(&block);
    if (block.bad || length > block.end - block.at)
        return SP_CFI_INVALID;

    struct machine machine;
    machine.tables = tables;
    machine.registers = registers;
    machine.read = read;
    machine.context = context;
    machine.bytes = sp_bytes_make(block.at, block.at + length);
    machine.start = block.at;
    machine.result = SP_CFI_VALUE;
    machine.depth = 0;
    if (initial != NULL)
        push(&machine, *initial);
    for (unsigned steps = 0; machine.bytes.at != machine.bytes.end; steps++) {
        if (steps == STEPS_MAX)
            return SP_CFI_INVALID;
        execute(&machine);
    }
    if (machine.result == SP_CFI_NEEDS_REGISTER && needed != NULL)
        *needed = machine.needed;
    if (machine.result != SP_CFI_VALUE)
        return machine.result;
    if (machine.bytes.bad || machine.depth == 0)
        return SP_CFI_INVALID;
    *value = machine.stack[machine.depth - 1];
    return SP_CFI_VALUE;
}
