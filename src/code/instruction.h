/* SPDX-License-Identifier: MIT */
/*
 * One x86-64 instruction: its length, and what it does to the stack pointer and the general registers (Intel SDM,
 * volume 2, chapter 2 and appendix A).
 *
 * Registers go by their numbers in instructions: 4 is rsp, 5 is rbp.
 */
#ifndef SPWALK_CODE_INSTRUCTION_H
#define SPWALK_CODE_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

#define SP_HW_RAX 0
#define SP_HW_RCX 1
#define SP_HW_RDX 2
#define SP_HW_RBX 3
#define SP_HW_RSP 4
#define SP_HW_RBP 5
#define SP_HW_RSI 6
#define SP_HW_RDI 7
#define SP_HW_R11 11
#define SP_HW_NONE 16

enum sp_operation {
    SP_OTHER = 0, /* changes no register but those in `written`, and may store `stored` bytes at `memory` */
    SP_STOP,      /* what comes after is not told by it: traps, system instructions, unknown encodings */
    SP_ENDBR,     /* endbr64 */
    SP_RETURN,    /* ret, with no operand */
    SP_CALL,      /* any call but the next; the target of a direct one is `target`, else that is 0 */
    SP_CALL_SLOT, /* to where a pointer at a fixed address says, `call *x(%rip)`, which is at `target` */
    SP_SYSCALL,
    SP_JUMP,      /* to `target` */
    SP_JUMP_SLOT, /* to where a pointer at a fixed address says, `jmp *x(%rip)`, which is at `target` */
    SP_JUMP_AWAY, /* to where register `source` says, or SP_HW_NONE: what memory says */
    SP_BRANCH,    /* to `target` or on */
    SP_PUSH,      /* 8 bytes: register `source`, or SP_HW_NONE: something else */
    SP_PUSH_SLOT, /* pushes what a fixed address holds, `push x(%rip)`, which is at `target` */
    SP_POP,       /* 8 bytes: into register `destination`, or SP_HW_NONE: elsewhere */
    SP_LEAVE,     /* rsp = rbp, pop rbp */
    SP_MOVE,      /* register `source` to `destination` */
    SP_LOAD,      /* 8 bytes at `memory` to `destination` */
    SP_STORE,     /* register `source` to 8 bytes at `memory` */
    SP_ADDRESS,   /* lea: the address of `memory` to `destination` */
    SP_ADD,       /* `immediate` to `destination` */
    SP_CONSTANT,  /* `immediate` to `destination` */
};

struct sp_memory {
    uint8_t base;  /* a register, or SP_HW_NONE: none, or one whose value is no address in 64 bits */
    uint8_t index; /* a register, or SP_HW_NONE */
    int32_t displacement;
};

struct sp_instruction {
    uint8_t operation; /* an enum sp_operation */
    uint8_t length;    /* 1..15 */
    uint8_t source, destination;
    uint8_t stored;   /* bytes */
    uint16_t written; /* bit r: register r has another value after it */
    struct sp_memory memory;
    int64_t immediate;
    uintptr_t target;
};

/*
 * Reads the instruction at an address. Returns false where its bytes don't end before `end`, or are no instruction.
 * Of what it returns true for, the length is right; where more is not known the operation is SP_STOP.
 */
bool sp_instruction_read(uintptr_t at, uintptr_t end, struct sp_instruction *instruction);

#endif
