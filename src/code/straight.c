/* SPDX-License-Identifier: MIT */
/* What a few instructions in a row tell: those after a pc, and those before it. */
#include "code/code.h"

#include "code/machine.h"

/* glibc's swapcontext loads 17 registers between the stack pointer and its return. */
#define STRAIGHT_MOST 24
#define BEHIND_BYTES_MOST 8192
#define AHEAD_MOST 100
#define CALLS_MOST 9

static const uint8_t dwarf_number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t callee_saved[] = {SP_HW_RBX, SP_HW_RBP, 12, 13, 14, 15};

static bool is_stack_register(unsigned origin)
{
    return origin == SP_HW_RSP || origin == SP_HW_RBP;
}

/* The code returns by what lies at rsp, or has the caller's return address there for the function it jumps to. */
static void go_back(const struct sp_machine *machine, struct sp_code_straight *straight)
{
    struct sp_value rsp = machine->registers[SP_HW_RSP];
    if (is_stack_register(rsp.origin)) {
        struct sp_value held = sp_machine_load(machine, rsp);
        if (held.origin != SP_ORIGIN_RSP_SLOT && held.origin != SP_ORIGIN_RBP_SLOT) {
            straight->way = SP_CODE_ELSEWHERE;
            return;
        }
    }
    straight->way = SP_CODE_BACK;
    straight->has_cfa = rsp.origin <= 15 && rsp.offset <= INT32_MAX - 8;
    straight->cfa_register = rsp.origin <= 15 ? dwarf_number[rsp.origin] : 0;
    straight->cfa_offset = straight->has_cfa ? rsp.offset + 8 : 0;
    straight->live = 0;
    for (unsigned i = 0; i < sizeof callee_saved; i++) {
        struct sp_value value = machine->registers[callee_saved[i]];
        if (value.origin == callee_saved[i] && value.offset == 0)
            straight->live |= 1u << dwarf_number[callee_saved[i]];
    }
}

static bool is_at_return_address(const struct sp_machine *machine, unsigned cfa_register, int32_t cfa_offset)
{
    struct sp_value rsp = machine->registers[SP_HW_RSP];
    return rsp.origin <= 15 && dwarf_number[rsp.origin] == cfa_register && rsp.offset == (int64_t)cfa_offset - 8;
}

void sp_code_read_straight(uintptr_t pc, uintptr_t function_lo, uintptr_t function_hi, unsigned cfa_register,
                           int32_t cfa_offset, struct sp_code_straight *straight)
{
    struct sp_machine machine;
    sp_machine_enter(&machine);
    straight->way = SP_CODE_ON;
    for (unsigned i = 0; i < STRAIGHT_MOST; i++) {
        struct sp_instruction instruction;
        if (!sp_instruction_read(pc, function_hi, &instruction))
            return;
        switch (instruction.operation) {
        case SP_STOP:
        case SP_BRANCH:
        case SP_CALL:
        case SP_CALL_SLOT:
        case SP_SYSCALL:
        case SP_PUSH_SLOT:
            return;
        case SP_RETURN:
            go_back(&machine, straight);
            return;
        case SP_JUMP:
            if (instruction.target >= function_lo && instruction.target < function_hi) {
                pc = instruction.target;
                continue;
            }
            /* To another part of the function, or to another function. */
            if (is_at_return_address(&machine, cfa_register, cfa_offset))
                go_back(&machine, straight);
            return;
        case SP_JUMP_SLOT:
            if (is_at_return_address(&machine, cfa_register, cfa_offset))
                go_back(&machine, straight);
            return;
        case SP_JUMP_AWAY:
            if (is_at_return_address(&machine, cfa_register, cfa_offset))
                go_back(&machine, straight);
            else
                straight->way = SP_CODE_ELSEWHERE;
            return;
        default:
            break;
        }
        sp_machine_execute(&machine, &instruction);
        pc += instruction.length;
    }
}

bool sp_code_has_left_stack(uintptr_t function_lo, uintptr_t pc)
{
    if (pc < function_lo || pc - function_lo > BEHIND_BYTES_MOST)
        return false;
    bool has_left = false;
    uintptr_t at = function_lo;
    while (at < pc) {
        struct sp_instruction instruction;
        if (!sp_instruction_read(at, pc, &instruction))
            return false;
        switch (instruction.operation) {
        case SP_STOP:
        case SP_RETURN:
        case SP_JUMP:
        case SP_JUMP_SLOT:
        case SP_JUMP_AWAY:
            has_left = false;
            break;
        case SP_LOAD:
            if (instruction.destination == SP_HW_RSP && !is_stack_register(instruction.memory.base))
                has_left = true;
            break;
        default:
            break;
        }
        at += instruction.length;
    }
    return has_left && at == pc;
}

unsigned sp_code_calls_to_landing_pad(uintptr_t pc, uintptr_t function_lo, uintptr_t function_hi)
{
    unsigned calls = 0, calls_at_branch = 0;
    uintptr_t branch = 0; /* the last that was passed by, to be taken where the way passing by it ends otherwise */
    bool is_rsp_set = false;
    for (unsigned i = 0; i < AHEAD_MOST && calls < CALLS_MOST; i++) {
        struct sp_instruction instruction;
        bool is_other_end = false;
        if (!sp_instruction_read(pc, function_hi, &instruction))
            break;
        pc += instruction.length;
        bool is_inside = instruction.target >= function_lo && instruction.target < function_hi;
        switch (instruction.operation) {
        case SP_RETURN:
        case SP_JUMP_AWAY:
            if (is_rsp_set)
                return calls;
            is_other_end = true;
            break;
        case SP_STOP:
        case SP_JUMP_SLOT:
            is_other_end = true;
            break;
        case SP_CALL:
        case SP_CALL_SLOT:
            calls++;
            break;
        case SP_BRANCH:
            if (is_inside && instruction.target > pc) {
                branch = instruction.target;
                calls_at_branch = calls;
            }
            break;
        case SP_JUMP:
            is_other_end = !is_inside;
            pc = instruction.target;
            break;
        case SP_MOVE:
            is_rsp_set = is_rsp_set || (instruction.destination == SP_HW_RSP && instruction.source != SP_HW_RBP);
            break;
        default:
            break;
        }
        if (is_other_end && branch == 0)
            break;
        if (is_other_end) {
            pc = branch;
            calls = calls_at_branch;
            branch = 0;
        }
    }
    return CALLS_MOST;
}

bool sp_code_read_call(uintptr_t return_address, uintptr_t code_lo, struct sp_code_call *call)
{
    /* e8, which most calls are; else ff /2. Prefixes may stand before, and change nothing that is asked here. */
    static const uint8_t lengths[] = {5, 2, 3, 6, 4, 7};
    for (unsigned i = 0; i < sizeof lengths; i++) {
        struct sp_instruction instruction;
        uintptr_t at = return_address - lengths[i];
        if (return_address < code_lo || lengths[i] > return_address - code_lo)
            continue;
        uint8_t opcode = *(const uint8_t *)at;
        if (opcode != (lengths[i] == 5 ? 0xe8 : 0xff) || !sp_instruction_read(at, return_address, &instruction) ||
            instruction.length != lengths[i])
            continue;
        if (instruction.operation == SP_CALL) {
            *call = (struct sp_code_call){instruction.target, 0};
            return true;
        }
        if (instruction.operation == SP_CALL_SLOT) {
            *call = (struct sp_code_call){0, instruction.target};
            return true;
        }
    }
    return false;
}

uintptr_t sp_code_read_stub(uintptr_t address, uintptr_t code_hi)
{
    struct sp_instruction instruction;
    if (!sp_instruction_read(address, code_hi, &instruction))
        return 0;
    if (instruction.operation == SP_ENDBR && !sp_instruction_read(address + instruction.length, code_hi, &instruction))
        return 0;
    return instruction.operation == SP_JUMP_SLOT ? instruction.target : 0;
}
