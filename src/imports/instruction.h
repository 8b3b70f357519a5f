/* SPDX-License-Identifier: MIT */
/*
 * As much of an x86-64 instruction as following one register's value takes: its length, where control goes after it,
 * and which general registers it names (Intel SDM volume 2, chapter 2 and appendix A).
 */
#ifndef SPWALK_IMPORTS_INSTRUCTION_H
#define SPWALK_IMPORTS_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flow {
    FLOW_NEXT,          /* to the next instruction */
    FLOW_BRANCH,        /* there, or to `target` */
    FLOW_JUMP,          /* to `target` */
    FLOW_CALL,          /* a call, of whatever */
    FLOW_JUMP_REGISTER, /* jmp *register */
    FLOW_JUMP_MEMORY,   /* jmp *memory */
    FLOW_RETURN,
    FLOW_STOP /* traps */
};

enum opcode_map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A };

#define NO_REGISTER 16

struct instruction {
    const unsigned char *next; /* what follows it */
    const unsigned char *target;
    enum flow flow;
    enum opcode_map map;
    uint8_t opcode;
    bool vector; /* VEX or EVEX */
    bool wide;   /* REX.W */
    bool has_modrm, memory, rip_relative;
    uint8_t extension;       /* the ModRM byte's reg field, where that extends the opcode */
    uint8_t reg, rm;         /* registers named by ModRM; rm only where not memory; else NO_REGISTER */
    uint8_t base, index;     /* of the memory operand, or NO_REGISTER */
    uint8_t opcode_register; /* named by the opcode, as in push and pop, or NO_REGISTER */
    int64_t immediate;
    uint16_t implicit; /* registers used without being named, a bit each */
};

/* Decodes the instruction at `code`, of which `size` bytes can be read. Returns false for one it does not know. */
bool imports_decode(const unsigned char *code, size_t size, struct instruction *instruction);

#endif
