/* SPDX-License-Identifier: MIT */
#include "imports/pointer.h"
#include "imports/instruction.h"

/* How many instructions one load is followed through at most, and to how many branches. */
#define STEPS_MAX 2000
#define PLACES_MAX 256

enum { RAX = 0, RCX = 1, RDX = 2, RSI = 6, RDI = 7, R8 = 8, R9 = 9, R10 = 10, R11 = 11 };

struct following {
    const struct object *object;
    unsigned tracked; /* the register with the address */
    bool called, out;
    int steps;
    /* Where paths begin: those from `done` on are still to be followed. */
    const unsigned char *places[PLACES_MAX];
    int place_count, done;
};

static void add_place(struct following *following, const unsigned char *place)
{
    for (int i = 0; i < following->place_count; i++)
        if (following->places[i] == place)
            return;
    if (following->place_count == PLACES_MAX)
        following->out = true;
    else
        following->places[following->place_count++] = place;
}

static bool is_argument(unsigned number)
{
    return number == RDI || number == RSI || number == RDX || number == RCX || number == R8 || number == R9 ||
           number == R10;
}

static bool is_kept_by_calls(unsigned number)
{
    return !is_argument(number) && number != RAX && number != R11;
}

static bool reads_memory_by(const struct instruction *instruction, unsigned number)
{
    return instruction->base == number || instruction->index == number;
}

static bool names(const struct instruction *instruction, unsigned number)
{
    return instruction->reg == number || instruction->rm == number || instruction->opcode_register == number ||
           instruction->implicit >> number & 1 || reads_memory_by(instruction, number);
}

/* Whether the register gets a new value that does not depend on the old one. */
static bool overwrites(const struct instruction *instruction, unsigned number)
{
    unsigned opcode = instruction->opcode;
    if (instruction->vector || reads_memory_by(instruction, number))
        return false;
    if (instruction->map == MAP_0F) {
        bool extends = opcode == 0xb6 || opcode == 0xb7 || opcode == 0xbe || opcode == 0xbf;
        return extends && instruction->reg == number && instruction->rm != number;
    }
    if (instruction->map != MAP_ONE_BYTE)
        return false;
    if (opcode == 0x8b || opcode == 0x8d || opcode == 0x63)
        return instruction->reg == number && instruction->rm != number;
    if (opcode == 0x89)
        return instruction->rm == number && instruction->reg != number;
    if (opcode == 0xc7)
        return instruction->rm == number;
    if (opcode == 0x31 || opcode == 0x33)
        return instruction->reg == number && instruction->rm == number;
    if (opcode >= 0xb8 && opcode <= 0xbf)
        return instruction->opcode_register == number;
    if (opcode >= 0x58 && opcode <= 0x5f)
        return instruction->opcode_register == number;
    return opcode == 0xc9 && instruction->implicit >> number & 1;
}

static bool compares_with_0(const struct instruction *instruction, unsigned number)
{
    if (instruction->map != MAP_ONE_BYTE || instruction->memory || instruction->rm != number || !instruction->wide)
        return false;
    return (instruction->opcode == 0x85 && instruction->reg == number) ||
           (instruction->opcode == 0x83 && instruction->extension == 7 && instruction->immediate == 0);
}

/* One instruction with the address in the register. Returns whether the next one is on the path, too. */
static bool step(struct following *following, const struct instruction *instruction)
{
    unsigned tracked = following->tracked;
    bool through = instruction->map == MAP_ONE_BYTE && instruction->opcode == 0xff && !instruction->memory &&
                   instruction->rm == tracked;
    switch (instruction->flow) {
    case FLOW_CALL:
        if (!through && (names(instruction, tracked) || is_argument(tracked)))
            following->out = true;
        following->called |= through;
        return is_kept_by_calls(tracked);
    case FLOW_JUMP_REGISTER:
        following->out |= !through;
        following->called |= through;
        return false;
    case FLOW_JUMP_MEMORY: /* a tail call through a slot; through a table it leads back to anywhere */
        following->out |= !instruction->rip_relative || is_argument(tracked) || is_kept_by_calls(tracked);
        return false;
    case FLOW_RETURN:
        following->out |= tracked == RAX || tracked == RDX || is_kept_by_calls(tracked);
        return false;
    case FLOW_STOP:
        return false;
    case FLOW_JUMP:
        add_place(following, instruction->target);
        return false;
    case FLOW_BRANCH:
        following->out |= names(instruction, tracked);
        add_place(following, instruction->target);
        return true;
    case FLOW_NEXT:
        break;
    }
    if (overwrites(instruction, tracked))
        return false;
    following->out |= names(instruction, tracked) && !compares_with_0(instruction, tracked);
    return true;
}

static size_t readable_from(const struct object *object, const unsigned char *code)
{
    for (size_t i = 0; i < object->segment_count; i++) {
        const Elf64_Phdr *segment = &object->segments[i];
        uintptr_t into = (uintptr_t)code - (object->bias + segment->p_vaddr);
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && segment->p_flags & PF_R &&
            into < segment->p_filesz)
            return segment->p_filesz - into;
    }
    return 0;
}

static void follow(struct following *following, const unsigned char *at)
{
    bool onward = true, first = true;
    while (onward && !following->out) {
        struct instruction instruction;
        /* Another path began here: the rest is known, or will be. */
        for (int i = 0; i < following->place_count && !first; i++)
            if (following->places[i] == at)
                return;
        first = false;
        if (++following->steps > STEPS_MAX || !imports_decode(at, readable_from(following->object, at), &instruction)) {
            following->out = true;
            return;
        }
        onward = step(following, &instruction);
        at = instruction.next;
    }
}

enum pointer_use imports_pointer_use(const struct object *object, const struct site *site)
{
    struct following following = {.object = object, .tracked = site->register_number};
    add_place(&following, site->operand + 4);
    while (following.done < following.place_count && !following.out)
        follow(&following, following.places[following.done++]);
    return following.out ? POINTER_OUT : following.called ? POINTER_CALLED : POINTER_TESTED;
}
