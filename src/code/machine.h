/* SPDX-License-Identifier: MIT */
/*
 * What is known of registers and stack at a place in the code, in terms of what they held at the start ("entry") of the
 * reading.
 */
#ifndef SPWALK_CODE_MACHINE_H
#define SPWALK_CODE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "code/instruction.h"

/* The origin of a value: 0..15, the entry value of that register, plus `offset`; or one of these. */
enum {
    SP_ORIGIN_RSP_SLOT = 16, /* what the 8 bytes at entry rsp + offset held on entry */
    SP_ORIGIN_RBP_SLOT,      /* what those at entry rbp + offset held */
    SP_ORIGIN_CONSTANT,      /* offset itself */
    SP_ORIGIN_FIXED,         /* a constant of more bits, which is not kept */
    SP_ORIGIN_UNKNOWN,
};

struct sp_value {
    uint8_t origin;
    int32_t offset;
};

#define SP_STORES_KEPT 12
#define SP_CALLS_KEPT 4

/* Bytes written since entry, relative to entry rsp or rbp, and what they hold if that is 8 bytes known. */
struct sp_store {
    struct sp_value value;
    int32_t offset;
    uint8_t base; /* SP_HW_RSP or SP_HW_RBP */
    uint8_t size;
};

struct sp_range {
    int32_t lo, hi;
};

struct sp_machine {
    struct sp_value registers[16];
    struct sp_store stores[SP_STORES_KEPT]; /* the newest, in a ring; size 0: none */
    struct sp_range forgotten[2];           /* what older ones wrote, relative to rsp and to rbp */
    uint16_t saved[2];                      /* registers whose entry values were stored relative to rsp and to rbp */
    struct sp_value calls[SP_CALLS_KEPT];   /* rsp at calls that were passed over */
    uint8_t oldest;                         /* of the stores: the next place */
    uint8_t call_count;                     /* SP_CALLS_KEPT + 1: more than could be kept */
};

void sp_machine_enter(struct sp_machine *machine);

/* Carries out an instruction that goes on to the next; of calls, what the callee may do. */
void sp_machine_execute(struct sp_machine *machine, const struct sp_instruction *instruction);

/* Remembers that something was called, or is being returned from, that may not come back. */
void sp_machine_note_call(struct sp_machine *machine);

/* Whether rsp is now what it was at such a call. */
bool sp_machine_is_at_call(const struct sp_machine *machine);

/* What 8 bytes at an address hold. */
struct sp_value sp_machine_load(const struct sp_machine *machine, struct sp_value address);

#endif
