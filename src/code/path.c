/* SPDX-License-Identifier: MIT */
/* Follows the code from a pc to its returns, and says what they have in common. */
#include "code/code.h"

#include "cfi/bytes.h"
#include "code/machine.h"

/* What keeps the time short, and the stack small: a state is some 380 bytes. */
#define STEPS_MOST 600
#define BRANCHES_KEPT 3

/* System calls that don't return to what is after them. */
enum { SYSCALL_RT_SIGRETURN = 15, SYSCALL_EXIT = 60, SYSCALL_EXIT_GROUP = 231 };

/* DWARF's numbers of the registers by those in instructions. */
static const uint8_t dwarf_number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t callee_saved[] = {SP_HW_RBX, SP_HW_RBP, 12, 13, 14, 15};

/* How much a return that was come to can be relied on, the most first. */
enum trust { NO_CALL, PAST_CALL, AT_CALL };

struct place {
    struct sp_machine machine;
    uintptr_t pc;
};

struct reading {
    uintptr_t start;
    uintptr_t code_lo, code_hi;
    uintptr_t function_hi; /* not to be run past */
    unsigned steps;
    unsigned branches; /* to be read yet */
    bool found;
    enum trust trust;  /* of what was found */
    bool contradicted; /* two such returns that can't be of the same function */
    struct sp_code_rule *rule;
    struct place current;
    struct place waiting[BRANCHES_KEPT];
};

static bool is_code(const struct reading *reading, uintptr_t address)
{
    return address >= reading->code_lo && address < reading->code_hi;
}

/* Where what a register has in the caller is now. */
static struct sp_cfi_rule rule_of(struct sp_value value, unsigned number, struct sp_value cfa)
{
    /* One kept in another register is not told from one that a helper in assembly, bound by no ABI, computes there. */
    if (value.origin == number && value.offset == 0)
        return (struct sp_cfi_rule){.kind = SP_CFI_SAME};
    bool in_slot = value.origin == (cfa.origin == SP_HW_RSP ? SP_ORIGIN_RSP_SLOT : SP_ORIGIN_RBP_SLOT);
    /* Below rsp nothing is kept, and above the return address nothing is saved. */
    if (in_slot && (int64_t)value.offset <= (int64_t)cfa.offset - 16 && (cfa.origin == SP_HW_RBP || value.offset >= 0))
        return (struct sp_cfi_rule){.kind = SP_CFI_OFFSET, .offset = value.offset - cfa.offset};
    return (struct sp_cfi_rule){.kind = SP_CFI_UNDEFINED};
}

static void set_rule(struct reading *reading, const struct sp_machine *machine, struct sp_value cfa, enum trust trust)
{
    struct sp_cfi_row *row = &reading->rule->row;
    row->lo = row->function_lo = reading->start;
    row->hi = row->function_hi = reading->start + 1;
    row->cfa =
        (struct sp_cfa){.kind = SP_CFA_REGISTER, .register_number = dwarf_number[cfa.origin], .offset = cfa.offset};
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
        row->rules[i] = (struct sp_cfi_rule){.kind = SP_CFI_UNDEFINED};
    for (unsigned i = 0; i < sizeof callee_saved; i++) {
        unsigned number = callee_saved[i];
        row->rules[dwarf_number[number]] = rule_of(machine->registers[number], number, cfa);
    }
    row->rules[SP_CFI_RSP] = (struct sp_cfi_rule){.kind = SP_CFI_VAL_OFFSET, .offset = 0};
    row->rules[SP_CFI_RA] = (struct sp_cfi_rule){.kind = SP_CFI_OFFSET, .offset = -8};
    row->args_size = 0;
    row->return_register = SP_CFI_RA;
    row->signal_frame = false;
    reading->rule->past_call = trust != NO_CALL;
    reading->rule->aligned_only = trust == AT_CALL;
    reading->trust = trust;
    reading->found = true;
}

/* Another return with the same CFA: what it has otherwise for a register is lost. */
static void weaken_rule(struct reading *reading, const struct sp_machine *machine, struct sp_value cfa)
{
    for (unsigned i = 0; i < sizeof callee_saved; i++) {
        unsigned number = callee_saved[i];
        struct sp_cfi_rule *known = &reading->rule->row.rules[dwarf_number[number]];
        struct sp_cfi_rule rule = rule_of(machine->registers[number], number, cfa);
        if (rule.kind != known->kind ||
            (rule.kind != SP_CFI_SAME && rule.kind != SP_CFI_UNDEFINED && rule.offset != known->offset))
            known->kind = SP_CFI_UNDEFINED;
    }
}

/* A return, `above` bytes above rsp, that the reading has come to. */
static void arrive(struct reading *reading, int32_t above)
{
    struct sp_machine *machine = &reading->current.machine;
    struct sp_value slot = machine->registers[SP_HW_RSP];
    if ((slot.origin != SP_HW_RSP && slot.origin != SP_HW_RBP) || slot.offset < -above ||
        slot.offset > INT32_MAX - above - 8)
        return;
    slot.offset += above;
    struct sp_value held = sp_machine_load(machine, slot);
    if (held.origin != (slot.origin == SP_HW_RSP ? SP_ORIGIN_RSP_SLOT : SP_ORIGIN_RBP_SLOT))
        return; /* the code put something there itself: no return to a caller */

    enum trust trust = machine->call_count == 0 ? NO_CALL : sp_machine_is_at_call(machine) ? AT_CALL : PAST_CALL;
    const struct sp_value cfa = {slot.origin, slot.offset + 8};
    const struct sp_code_rule *rule = reading->rule;
    if (!reading->found || trust < reading->trust) {
        set_rule(reading, machine, cfa, trust);
        reading->contradicted = false;
        return;
    }
    if (trust > reading->trust)
        return;
    if (rule->row.cfa.register_number != dwarf_number[cfa.origin]) {
        /* By rsp in one way and by rbp in another: they can't be compared, and rsp is the surer. */
        if (cfa.origin == SP_HW_RSP)
            set_rule(reading, machine, cfa, trust);
    } else if (rule->row.cfa.offset != cfa.offset) {
        reading->contradicted = true;
    } else {
        weaken_rule(reading, machine, cfa);
    }
}

static bool never_returns(const struct sp_machine *machine)
{
    struct sp_value rax = machine->registers[SP_HW_RAX];
    return rax.origin == SP_ORIGIN_CONSTANT &&
           (rax.offset == SYSCALL_RT_SIGRETURN || rax.offset == SYSCALL_EXIT || rax.offset == SYSCALL_EXIT_GROUP);
}

/* A PLT's first stub, `push GOT+8(%rip); jmp *GOT+16(%rip)`: the resolver takes what the stub pushes, and what came
 * before. */
static bool is_first_plt_stub(const struct reading *reading, uintptr_t at)
{
    struct sp_instruction push, jump;
    return sp_instruction_read(at, reading->code_hi, &push) && push.operation == SP_PUSH_SLOT &&
           sp_instruction_read(at + push.length, reading->code_hi, &jump) && jump.operation == SP_JUMP_SLOT &&
           jump.target == push.target + 8;
}

/* The second instruction of such a stub: both words are on the stack. */
static bool is_inside_first_plt_stub(const struct reading *reading, uintptr_t at)
{
    const unsigned push_length = 6;
    return at == reading->start && at - reading->code_lo >= push_length && is_first_plt_stub(reading, at - push_length);
}

static void keep_branch(struct reading *reading, uintptr_t target)
{
    if (reading->branches < BRANCHES_KEPT && is_code(reading, target)) {
        reading->waiting[reading->branches] = reading->current;
        reading->waiting[reading->branches].pc = target;
        reading->branches++;
    }
}

static bool is_fixed(const struct sp_machine *machine, unsigned number)
{
    return number != SP_HW_NONE && (machine->registers[number].origin == SP_ORIGIN_CONSTANT ||
                                    machine->registers[number].origin == SP_ORIGIN_FIXED);
}

/* Reads on from the current place until the path returns, or can't be followed. */
static void follow(struct reading *reading)
{
    struct sp_machine *machine = &reading->current.machine;
    uintptr_t *pc = &reading->current.pc;
    uintptr_t run = *pc; /* the start of what has been read in one piece */
    for (; reading->steps < STEPS_MOST; reading->steps++) {
        struct sp_instruction instruction;
        if ((*pc == reading->function_hi && *pc != run) || !sp_instruction_read(*pc, reading->code_hi, &instruction))
            return;
        uintptr_t next = *pc + instruction.length;
        switch (instruction.operation) {
        case SP_STOP:
            return;
        case SP_JUMP_AWAY: /* to a function whose address is in the code: a nested function's trampoline */
            if (is_fixed(machine, instruction.source))
                arrive(reading, 0);
            return;
        case SP_ENDBR:
            if (*pc != run) /* what jumps here, or is called, is another function */
                return;
            break;
        case SP_RETURN:
            arrive(reading, 0);
            return;
        case SP_JUMP_SLOT:
            arrive(reading, is_inside_first_plt_stub(reading, *pc) ? 16 : 0);
            return;
        case SP_PUSH_SLOT:
            if (is_first_plt_stub(reading, *pc)) {
                arrive(reading, 8);
                return;
            }
            break;
        case SP_JUMP:
            if (!is_code(reading, instruction.target))
                return;
            *pc = run = instruction.target;
            continue;
        case SP_BRANCH:
            if (instruction.target < run || instruction.target > *pc)
                keep_branch(reading, instruction.target);
            break;
        case SP_CALL:
            if (instruction.target == next) { /* an old way to read the pc */
                instruction.operation = SP_PUSH;
                instruction.source = SP_HW_NONE;
            }
            break;
        case SP_SYSCALL:
            if (never_returns(machine))
                return;
            break;
        default:
            break;
        }
        sp_machine_execute(machine, &instruction);
        *pc = next;
    }
}

enum sp_code_result sp_code_find_rule(uintptr_t pc, bool interrupted, uintptr_t code_lo, uintptr_t code_hi,
                                      struct sp_code_rule *rule)
{
    return sp_code_find_rule_in(pc, interrupted, code_lo, code_hi, code_hi, rule);
}

enum sp_code_result sp_code_find_rule_in(uintptr_t pc, bool interrupted, uintptr_t code_lo, uintptr_t code_hi,
                                         uintptr_t function_hi, struct sp_code_rule *rule)
{
    struct reading reading;
    reading.start = reading.current.pc = pc;
    reading.code_lo = code_lo;
    reading.code_hi = code_hi;
    reading.function_hi = function_hi;
    reading.steps = 0;
    reading.branches = 0;
    reading.found = reading.contradicted = false;
    reading.rule = rule;
    if (!is_code(&reading, pc))
        return SP_CODE_UNKNOWN;
    sp_machine_enter(&reading.current.machine);
    if (!interrupted)
        sp_machine_note_call(&reading.current.machine);
    for (;;) {
        follow(&reading);
        if (reading.branches == 0)
            break;
        reading.branches--;
        reading.current = reading.waiting[reading.branches];
    }
    return reading.found && !reading.contradicted ? SP_CODE_OK : SP_CODE_UNKNOWN;
}
