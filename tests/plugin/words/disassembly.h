/* SPDX-License-Identifier: MIT */
/*
 * A file's code as objdump shows it. objdump knows nothing of how the code was made, which is why it is asked.
 */
#ifndef WORDS_DISASSEMBLY_H
#define WORDS_DISASSEMBLY_H

#include <stddef.h>
#include <stdint.h>

struct instruction {
    uint64_t address;
    size_t function;   /* index of the symbol it is in */
    char name[16];     /* mnemonic without prefixes */
    char operands[96]; /* AT&T order, without comments; cut where longer */
};

struct function {
    char name[96];
    size_t first, count; /* its instructions */
};

struct disassembly {
    struct instruction *instructions; /* ascending by address */
    size_t instruction_count;
    struct function *functions;
    size_t function_count;
};

/* Returns 0, or -1 with a message on stderr. All arrays are the caller's to free(3). */
int disassemble(const char *path, struct disassembly *code);

/* The index of the instruction at an address, or SIZE_MAX. */
size_t find_instruction(const struct disassembly *code, uint64_t address);

#endif
