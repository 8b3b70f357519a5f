/* SPDX-License-Identifier: MIT */
/*
 * What instructions do to the stack pointer, rbp and the frame word: enough of x86-64 for what GCC makes of prologues,
 * calls and epilogues. What is not understood makes the depth unknown, never wrong.
 */
#ifndef WORDS_STACK_H
#define WORDS_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "disassembly.h"

enum { UNKNOWN = -1 };

/* All depths are bytes from an address on the stack up to the CFA. */
struct stack {
    int64_t depth;      /* of rsp, or UNKNOWN */
    int64_t rbp_depth;  /* of the address in rbp, or UNKNOWN where rbp is no frame pointer */
    int64_t mark;       /* of the address that lea last put in a scratch register (a stack probe's end), or UNKNOWN */
    int64_t word_depth; /* of the frame word, or UNKNOWN where none has been stored */
    uint32_t word;
    int rbp_slot;     /* as in the word: 0 where rbp has not been saved */
    bool rbp_changed; /* rbp is not what it was at the function's entry */
    bool mark_seen;   /* rsp was just compared with the mark */
};

/* The stack at a function's first instruction. */
struct stack stack_at_entry(void);

/* Applies an instruction that is no jump or call. */
void apply(struct stack *stack, const struct instruction *instruction);

/* Takes a second path to the same instruction into account: what differs becomes unknown. Whether anything changed. */
bool merge(struct stack *stack, const struct stack *path);

#endif
