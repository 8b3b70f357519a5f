/* SPDX-License-Identifier: MIT */
#include "code/machine.h"

#include <stddef.h>

/* The registers that a call may change, psABI AMD64, figure 3.4: rax, rcx, rdx, rsi, rdi, r8 to r11. */
#define CALL_CLOBBERED 0x0fc7u
#define SYSCALL_CLOBBERED (1u << SP_HW_RAX | 1u << SP_HW_RCX | 1u << SP_HW_R11)

static const struct sp_value unknown = {SP_ORIGIN_UNKNOWN, 0};

void sp_machine_enter(struct sp_machine *machine)
{
    for (uint8_t i = 0; i < 16; i++)
        machine->registers[i] = (struct sp_value){i, 0};
    machine->saved[0] = machine->saved[1] = 0;
    machine->forgotten[0] = machine->forgotten[1] = (struct sp_range){0, 0};
    for (unsigned i = 0; i < SP_STORES_KEPT; i++)
        machine->stores[i].size = 0;
    machine->oldest = 0;
    machine->call_count = 0;
}

static struct sp_value add(struct sp_value value, int64_t addend)
{
    if (value.origin > 15) /* sums of other origins are of no use */
        return unknown;
    int32_t offset;
    if (__builtin_add_overflow(value.offset, addend, &offset))
        return unknown;
    return (struct sp_value){value.origin, offset};
}

static bool is_stack(struct sp_value address)
{
    return address.origin == SP_HW_RSP || address.origin == SP_HW_RBP;
}

static bool overlap(int64_t lo, int64_t size, int64_t other_lo, int64_t other_hi)
{
    return lo < other_hi && other_lo < lo + size;
}

struct sp_value sp_machine_load(const struct sp_machine *machine, struct sp_value address)
{
    if (!is_stack(address))
        return unknown;
    for (unsigned i = 1; i <= SP_STORES_KEPT; i++) { /* the newest first */
        const struct sp_store *store = &machine->stores[(machine->oldest + SP_STORES_KEPT - i) % SP_STORES_KEPT];
        if (store->size == 0)
            break;
        if (store->base != address.origin ||
            !overlap(address.offset, 8, store->offset, (int64_t)store->offset + store->size))
            continue;
        return store->offset == address.offset && store->size == 8 ? store->value : unknown;
    }
    bool by_rbp = address.origin == SP_HW_RBP;
    if (overlap(address.offset, 8, machine->forgotten[by_rbp].lo, machine->forgotten[by_rbp].hi))
        return unknown;
    return (struct sp_value){by_rbp ? SP_ORIGIN_RBP_SLOT : SP_ORIGIN_RSP_SLOT, address.offset};
}

/* Makes room for a store in the place of the oldest, whose extent is kept as one that is not known. */
static void forget(struct sp_machine *machine, const struct sp_store *oldest)
{
    struct sp_range *range = &machine->forgotten[oldest->base == SP_HW_RBP];
    int64_t end = (int64_t)oldest->offset + oldest->size;
    int32_t hi = end > INT32_MAX ? INT32_MAX : (int32_t)end;
    if (range->lo == range->hi) {
        *range = (struct sp_range){oldest->offset, hi};
        return;
    }
    if (oldest->offset < range->lo)
        range->lo = oldest->offset;
    if (hi > range->hi)
        range->hi = hi;
}

/* Stores elsewhere than relative to rsp or rbp are taken not to hit saved registers. */
static void store(struct sp_machine *machine, struct sp_value address, unsigned size, struct sp_value value)
{
    if (!is_stack(address))
        return;
    if (value.origin <= 15 && value.offset == 0)
        machine->saved[address.origin == SP_HW_RBP] |= (uint16_t)(1u << value.origin);
    /* The same bytes again, as a loop has it. A newer store that overlaps them still hides them, which loses little. */
    for (unsigned i = 0; i < SP_STORES_KEPT; i++) {
        struct sp_store *old = &machine->stores[i];
        if (old->size == size && old->base == address.origin && old->offset == address.offset) {
            old->value = value;
            return;
        }
    }
    struct sp_store *place = &machine->stores[machine->oldest];
    if (place->size != 0)
        forget(machine, place);
    *place = (struct sp_store){value, address.offset, address.origin, (uint8_t)size};
    machine->oldest = (machine->oldest + 1) % SP_STORES_KEPT;
}

static struct sp_value address_of(const struct sp_machine *machine, const struct sp_memory *memory)
{
    if (memory->base == SP_HW_NONE || memory->index != SP_HW_NONE)
        return unknown;
    return add(machine->registers[memory->base], memory->displacement);
}

static void push(struct sp_machine *machine, struct sp_value value)
{
    struct sp_value *rsp = &machine->registers[SP_HW_RSP];
    *rsp = add(*rsp, -8);
    store(machine, *rsp, 8, value);
}

/*
 * Loads a register. How rsp and rbp lie to each other is not known: what one of them saved since entry, the other may
 * load.
 */
static void load(struct sp_machine *machine, unsigned number, struct sp_value address)
{
    bool by_rbp = address.origin == SP_HW_RBP;
    struct sp_value value = sp_machine_load(machine, address);
    if (machine->saved[!by_rbp] >> number & 1)
        value = unknown;
    machine->registers[number] = value;
}

static void pop(struct sp_machine *machine, unsigned number)
{
    struct sp_value address = machine->registers[SP_HW_RSP];
    machine->registers[SP_HW_RSP] = add(address, 8);
    if (number != SP_HW_NONE)
        load(machine, number, address);
}

static void clobber(struct sp_machine *machine, unsigned registers)
{
    for (unsigned i = 0; i < 16; i++)
        if (registers >> i & 1)
            machine->registers[i] = unknown;
}

void sp_machine_note_call(struct sp_machine *machine)
{
    struct sp_value rsp = machine->registers[SP_HW_RSP];
    if (machine->call_count > SP_CALLS_KEPT || sp_machine_is_at_call(machine))
        return;
    if (machine->call_count < SP_CALLS_KEPT)
        machine->calls[machine->call_count] = rsp;
    machine->call_count++;
}

bool sp_machine_is_at_call(const struct sp_machine *machine)
{
    struct sp_value rsp = machine->registers[SP_HW_RSP];
    if (machine->call_count > SP_CALLS_KEPT)
        return true; /* perhaps */
    for (unsigned i = 0; i < machine->call_count; i++)
        if (machine->calls[i].origin == rsp.origin && machine->calls[i].offset == rsp.offset)
            return true;
    return false;
}

void sp_machine_execute(struct sp_machine *machine, const struct sp_instruction *instruction)
{
    struct sp_value *registers = machine->registers;
    struct sp_value value;
    switch (instruction->operation) {
    case SP_CALL:
    case SP_CALL_SLOT:
        sp_machine_note_call(machine);
        clobber(machine, CALL_CLOBBERED);
        return;
    case SP_SYSCALL:
        sp_machine_note_call(machine);
        clobber(machine, SYSCALL_CLOBBERED);
        return;
    case SP_PUSH:
    case SP_PUSH_SLOT:
        push(machine, instruction->source == SP_HW_NONE ? unknown : registers[instruction->source]);
        return;
    case SP_POP:
        pop(machine, instruction->destination);
        if (instruction->destination == SP_HW_NONE) /* into memory, at an address after rsp has moved */
            store(machine, address_of(machine, &instruction->memory), 8, unknown);
        return;
    case SP_LEAVE:
        registers[SP_HW_RSP] = registers[SP_HW_RBP];
        pop(machine, SP_HW_RBP);
        return;
    case SP_MOVE:
        registers[instruction->destination] = registers[instruction->source];
        return;
    case SP_LOAD:
        load(machine, instruction->destination, address_of(machine, &instruction->memory));
        return;
    case SP_STORE:
        store(machine, address_of(machine, &instruction->memory), 8, registers[instruction->source]);
        return;
    case SP_ADDRESS:
        registers[instruction->destination] = address_of(machine, &instruction->memory);
        return;
    case SP_ADD:
        registers[instruction->destination] = add(registers[instruction->destination], instruction->immediate);
        return;
    case SP_CONSTANT:
        if (instruction->immediate == (int32_t)instruction->immediate)
            value = (struct sp_value){SP_ORIGIN_CONSTANT, (int32_t)instruction->immediate};
        else
            value = (struct sp_value){SP_ORIGIN_FIXED, 0};
        registers[instruction->destination] = value;
        return;
    default:
        if (instruction->stored != 0)
            store(machine, address_of(machine, &instruction->memory), instruction->stored, unknown);
        clobber(machine, instruction->written);
    }
}
