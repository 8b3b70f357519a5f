/* SPDX-License-Identifier: MIT */
#include "program.h"

#include "bytes.h"
#include "encoding.h"

/* More than GCC and LLVM nest (1). Deeper is refused: the stack that a handler may use is small. */
#define REMEMBERED_MAX 8

/* The first byte of an instruction: the upper two bits where these are not 0, else the whole byte. */
enum {
    CFA_ADVANCE_LOC = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* What DW_CFA_remember_state remembers. */
struct state {
    struct sp_cfa cfa;
    struct sp_cfi_rule rules[SP_CFI_REGISTERS];
};

struct program {
    const struct sp_cfi_tables *tables;
    const struct sp_fde *fde;
    struct sp_cfi_row *row;
    uintptr_t location;
    uintptr_t next; /* where the row that is being built ends; not above location while it is open */
    unsigned remembered;
    struct sp_cfi_rule initial[SP_CFI_REGISTERS]; /* after the CIE's instructions */
    struct state states[REMEMBERED_MAX];
};

/* Copying by 8 bytes in a loop that stays one: no call of memcpy, whose PLT entry may not be bound yet. */
static inline void copy_rules(struct sp_cfi_rule *to, const struct sp_cfi_rule *from)
{
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
        to[i] = from[i];
}

/* Sets a register's rule; registers that are not followed (vector ones) have none. */
static void set_rule(struct program *program, uint64_t number, struct sp_cfi_rule rule)
{
    if (number < SP_CFI_REGISTERS)
        program->row->rules[number] = rule;
}

static void set_offset_rule(struct program *program, struct sp_bytes *bytes, enum sp_cfi_rule_kind kind,
                            uint64_t number, int64_t factored)
{
    int32_t offset;
    if (__builtin_mul_overflow(factored, program->fde->cie.data_alignment, &offset))
        sp_bytes_fail(bytes);
    else
        set_rule(program, number, (struct sp_cfi_rule){.kind = kind, .offset = offset});
}

/* An unsigned LEB128 as a signed value; one of 2^63 or more can be no offset. */
static int64_t read_unsigned_offset(struct sp_bytes *bytes)
{
    uint64_t value = sp_bytes_uleb(bytes);
    if (value > INT64_MAX) {
        sp_bytes_fail(bytes);
        return 0;
    }
    return (int64_t)value;
}

/* The position of an expression block, after which the cursor then is. */
static uint32_t read_expression(struct program *program, struct sp_bytes *bytes)
{
    uintptr_t position = bytes->at - program->tables->segment_lo;
    sp_bytes_skip(bytes, sp_bytes_uleb(bytes));
    if (position > UINT32_MAX)
        sp_bytes_fail(bytes);
    return (uint32_t)position;
}

static void restore_rule(struct program *program, struct sp_bytes *bytes, bool initial, uint64_t number)
{
    if (initial)
        sp_bytes_fail(bytes);
    else if (number < SP_CFI_REGISTERS)
        program->row->rules[number] = program->initial[number];
}

static void set_cfa(struct program *program, struct sp_bytes *bytes, uint64_t number, int64_t offset)
{
    if (number >= SP_CFI_REGISTERS || offset != (int32_t)offset)
        sp_bytes_fail(bytes);
    else
        program->row->cfa =
            (struct sp_cfa){.kind = SP_CFA_REGISTER, .register_number = (uint8_t)number, .offset = (int32_t)offset};
}

static void set_cfa_offset(struct program *program, struct sp_bytes *bytes, int64_t offset)
{
    if (program->row->cfa.kind != SP_CFA_REGISTER)
        sp_bytes_fail(bytes);
    else
        set_cfa(program, bytes, program->row->cfa.register_number, offset);
}

static int64_t factor(struct program *program, struct sp_bytes *bytes, int64_t factored)
{
    int64_t offset;
    if (__builtin_mul_overflow(factored, program->fde->cie.data_alignment, &offset))
        sp_bytes_fail(bytes);
    return bytes->bad ? 0 : offset;
}

/* Ends the row at a location; the CIE's instructions have no rows. */
static void advance_to(struct program *program, struct sp_bytes *bytes, bool initial, uintptr_t location)
{
    if (initial || location < program->location)
        sp_bytes_fail(bytes);
    else
        program->next = location;
}

static void advance(struct program *program, struct sp_bytes *bytes, bool initial, uint64_t factored)
{
    uintptr_t location;
    if (__builtin_mul_overflow(factored, program->fde->cie.code_alignment, &location) ||
        __builtin_add_overflow(location, program->location, &location))
        sp_bytes_fail(bytes);
    else
        advance_to(program, bytes, initial, location);
}

static void execute_extended(struct program *program, struct sp_bytes *bytes, bool initial, uint8_t opcode)
{
    struct sp_cfi_row *row = program->row;
    uint64_t number;
    switch (opcode) {
    case CFA_NOP:
        break;
    case CFA_SET_LOC: {
        const struct sp_encoding_bases bases = {program->tables->got, program->fde->lo};
        uintptr_t location = sp_encoding_pointer(bytes, program->fde->cie.pointer_encoding, &bases, program->tables);
        advance_to(program, bytes, initial, location);
        break;
    }
    case CFA_ADVANCE_LOC1:
        advance(program, bytes, initial, sp_bytes_u8(bytes));
        break;
    case CFA_ADVANCE_LOC2:
        advance(program, bytes, initial, sp_bytes_u16(bytes));
        break;
    case CFA_ADVANCE_LOC4:
        advance(program, bytes, initial, sp_bytes_u32(bytes));
        break;
    case CFA_OFFSET_EXTENDED:
        number = sp_bytes_uleb(bytes);
        set_offset_rule(program, bytes, SP_CFI_OFFSET, number, read_unsigned_offset(bytes));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        number = sp_bytes_uleb(bytes);
        set_offset_rule(program, bytes, SP_CFI_OFFSET, number, sp_bytes_sleb(bytes));
        break;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        number = sp_bytes_uleb(bytes);
        set_offset_rule(program, bytes, SP_CFI_OFFSET, number, -read_unsigned_offset(bytes));
        break;
    case CFA_VAL_OFFSET:
        number = sp_bytes_uleb(bytes);
        set_offset_rule(program, bytes, SP_CFI_VAL_OFFSET, number, read_unsigned_offset(bytes));
        break;
    case CFA_VAL_OFFSET_SF:
        number = sp_bytes_uleb(bytes);
        set_offset_rule(program, bytes, SP_CFI_VAL_OFFSET, number, sp_bytes_sleb(bytes));
        break;
    case CFA_RESTORE_EXTENDED:
        restore_rule(program, bytes, initial, sp_bytes_uleb(bytes));
        break;
    case CFA_UNDEFINED:
        set_rule(program, sp_bytes_uleb(bytes), (struct sp_cfi_rule){.kind = SP_CFI_UNDEFINED});
        break;
    case CFA_SAME_VALUE:
        set_rule(program, sp_bytes_uleb(bytes), (struct sp_cfi_rule){.kind = SP_CFI_SAME});
        break;
    case CFA_REGISTER: {
        number = sp_bytes_uleb(bytes);
        uint64_t source = sp_bytes_uleb(bytes);
        if (number < SP_CFI_REGISTERS && source >= SP_CFI_REGISTERS)
            sp_bytes_fail(bytes);
        else
            set_rule(program, number, (struct sp_cfi_rule){.kind = SP_CFI_REGISTER, .source = (uint32_t)source});
        break;
    }
    case CFA_EXPRESSION:
    case CFA_VAL_EXPRESSION:
        number = sp_bytes_uleb(bytes);
        set_rule(program, number,
                 (struct sp_cfi_rule){.kind = opcode == CFA_EXPRESSION ? SP_CFI_EXPRESSION : SP_CFI_VAL_EXPRESSION,
                                      .expression = read_expression(program, bytes)});
        break;
    case CFA_REMEMBER_STATE:
        if (program->remembered == REMEMBERED_MAX) {
            sp_bytes_fail(bytes);
            break;
        }
        program->states[program->remembered].cfa = row->cfa;
        copy_rules(program->states[program->remembered].rules, row->rules);
        program->remembered++;
        break;
    case CFA_RESTORE_STATE:
        if (program->remembered == 0) {
            sp_bytes_fail(bytes);
            break;
        }
        program->remembered--;
        row->cfa = program->states[program->remembered].cfa;
        copy_rules(row->rules, program->states[program->remembered].rules);
        break;
    case CFA_DEF_CFA:
        number = sp_bytes_uleb(bytes);
        set_cfa(program, bytes, number, read_unsigned_offset(bytes));
        break;
    case CFA_DEF_CFA_SF:
        number = sp_bytes_uleb(bytes);
        set_cfa(program, bytes, number, factor(program, bytes, sp_bytes_sleb(bytes)));
        break;
    case CFA_DEF_CFA_REGISTER:
        number = sp_bytes_uleb(bytes);
        if (row->cfa.kind == SP_CFA_REGISTER)
            set_cfa(program, bytes, number, row->cfa.offset);
        else
            sp_bytes_fail(bytes);
        break;
    case CFA_DEF_CFA_OFFSET:
        set_cfa_offset(program, bytes, read_unsigned_offset(bytes));
        break;
    case CFA_DEF_CFA_OFFSET_SF:
        set_cfa_offset(program, bytes, factor(program, bytes, sp_bytes_sleb(bytes)));
        break;
    case CFA_DEF_CFA_EXPRESSION:
        row->cfa = (struct sp_cfa){.kind = SP_CFA_EXPRESSION, .expression = read_expression(program, bytes)};
        break;
    case CFA_GNU_ARGS_SIZE: {
        uint64_t size = sp_bytes_uleb(bytes);
        if (size > UINT32_MAX)
            sp_bytes_fail(bytes);
        row->args_size = (uint32_t)size;
        break;
    }
    default:
        sp_bytes_fail(bytes);
    }
}

/* Executes up to the first instruction that moves past pc. Returns false where the instructions are malformed. */
static bool execute(struct program *program, struct sp_bytes *bytes, bool initial, uintptr_t pc)
{
    while (bytes->at != bytes->end) {
        uint8_t opcode = sp_bytes_u8(bytes);
        uint8_t operand = opcode & 0x3f;
        switch (opcode & 0xc0) {
        case CFA_ADVANCE_LOC:
            advance(program, bytes, initial, operand);
            break;
        case CFA_OFFSET:
            set_offset_rule(program, bytes, SP_CFI_OFFSET, operand, read_unsigned_offset(bytes));
            break;
        case CFA_RESTORE:
            restore_rule(program, bytes, initial, operand);
            break;
        default:
            execute_extended(program, bytes, initial, opcode);
        }
        if (program->next > program->location) {
            if (program->next > pc)
                break;
            program->location = program->next;
        }
    }
    return !bytes->bad;
}

enum sp_cfi_status sp_program_run(const struct sp_cfi_tables *tables, const struct sp_fde *fde, uintptr_t pc,
                                  struct sp_cfi_row *row)
{
    struct program program;
    program.tables = tables;
    program.fde = fde;
    program.row = row;
    program.location = program.next = fde->lo;
    program.remembered = 0;

    row->function_lo = fde->lo;
    row->function_hi = fde->hi;
    row->cfa = (struct sp_cfa){.kind = SP_CFA_UNSET};
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
        row->rules[i] = (struct sp_cfi_rule){.kind = SP_CFI_SAME};
    row->rules[SP_CFI_RSP] = (struct sp_cfi_rule){.kind = SP_CFI_VAL_OFFSET, .offset = 0};
    row->args_size = 0;
    row->return_register = fde->cie.return_register;
    row->signal_frame = fde->cie.signal_frame;

    struct sp_bytes bytes = sp_bytes_make(fde->cie.instructions, fde->cie.instructions_end);
    if (!execute(&program, &bytes, true, pc))
        return SP_CFI_BAD;
    copy_rules(program.initial, row->rules);
    bytes = sp_bytes_make(fde->instructions, fde->instructions_end);
    if (!execute(&program, &bytes, false, pc) || row->cfa.kind == SP_CFA_UNSET)
        return SP_CFI_BAD;

    row->lo = program.location;
    row->hi = program.next > program.location && program.next < fde->hi ? program.next : fde->hi;
    return SP_CFI_OK;
}
