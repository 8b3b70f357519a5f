/* SPDX-License-Identifier: MIT */
/*
 * How to leave a frame whose code has no call frame information: read from the instructions ahead.
 *
 * From a pc to the return there are pushes, pops and sums on rsp that the code will do itself; done on paper, they tell
 * where the return address lies and where the callee-saved registers are. Calls are passed over, jumps followed,
 * conditional ones both ways. It holds for what the psABI (AMD64, section 3.2) makes functions do: they return to their
 * caller, leave rsp above the return address, and restore rbx, rbp and r12 to r15.
 *
 *     crt's _init and _fini, hand-written assembly, PLT stubs, code made at run time
 *
 * For use inside signal handlers: no lock, no allocation, no system call, no recursion, errno untouched, under 2 KiB of
 * stack. Nothing outside [code_lo, code_hi) is read, whatever the bytes there.
 */
#ifndef SPWALK_CODE_H
#define SPWALK_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi.h"

enum sp_code_result {
    SP_CODE_OK = 0,
    SP_CODE_UNKNOWN, /* the instructions don't tell, or not for certain */
};

struct sp_code_rule {
    /*
     * As call frame information would have it: the CFA is rsp or rbp plus an offset of at least 8, the return address
     * is at CFA-8, and each callee-saved register has a rule of the kind SP_CFI_SAME, SP_CFI_OFFSET or, where it can't
     * be told, SP_CFI_UNDEFINED; all other registers are SP_CFI_UNDEFINED. It holds for this pc alone: [lo, hi) =
     * [function_lo, function_hi) = [pc, pc + 1).
     */
    struct sp_cfi_row row;
    /*
     * On every way to the return there is a call (for a return address: the one it belongs to). The rule is right if
     * that call returns. If it does not, as one of abort, what comes after it may be another function, or a part of one
     * whose frame is another; so the return address is to be checked, at least that it follows a call.
     */
    bool past_call;
    /*
     * Moreover rsp is at the return what it was at such a call. Then the rule holds only if the CFA is a multiple
     * of 16, by which the stack's alignment tells this function's return from that of one that begins after the call.
     */
    bool aligned_only;
};

/*
 * Reads the code from pc on.
 *
 * pc: the interrupted pc, or a return address itself (not less 1).
 * interrupted: whether pc was interrupted, rather than being a return address.
 * code_lo, code_hi: what may be read, best the whole executable segment: jumps out of it are not followed.
 * rule: filled where SP_CODE_OK is returned, else undefined.
 *
 * Thread-safe, re-entrant. Takes up to some 30 microseconds: an answer is worth being kept.
 */
enum sp_code_result sp_code_find_rule(uintptr_t pc, bool interrupted, uintptr_t code_lo, uintptr_t code_hi,
                                      struct sp_code_rule *rule);

/*
 * The same for code whose function is known to end at function_hi: what lies there is not come to by running on.
 */
enum sp_code_result sp_code_find_rule_in(uintptr_t pc, bool interrupted, uintptr_t code_lo, uintptr_t code_hi,
                                         uintptr_t function_hi, struct sp_code_rule *rule);

/* Where a few instructions in a row, from an interrupted pc on, lead. */
enum sp_code_way {
    SP_CODE_ON = 0,    /* to a branch, a call, or further than is looked */
    SP_CODE_BACK,      /* out of the function: by a return to its caller, or a jump with its frame gone */
    SP_CODE_ELSEWHERE, /* to an address that the code chose itself, by a jump or by a push and a return */
};

struct sp_code_straight {
    enum sp_code_way way;
    /* For SP_CODE_BACK, by DWARF numbers: */
    uint32_t live; /* bit r: callee-saved register r is not loaded on the way, so it is what it is in the caller */
    bool has_cfa;
    uint8_t cfa_register; /* the CFA is this register's value plus cfa_offset */
    int32_t cfa_offset;
};

/*
 * Reads straight on from pc, in the function [function_lo, function_hi), whose CFA is cfa_register + cfa_offset there
 * as far as is known.
 */
void sp_code_read_straight(uintptr_t pc, uintptr_t function_lo, uintptr_t function_hi, unsigned cfa_register,
                           int32_t cfa_offset, struct sp_code_straight *straight);

/*
 * Whether the instructions straight before pc have loaded rsp from memory that is not the function's own frame: then
 * the stack is another's already, and the function's call frame information does not say so. Reads from function_lo.
 */
bool sp_code_has_left_stack(uintptr_t function_lo, uintptr_t pc);

/*
 * How many calls there are from pc to where the function is left by __builtin_eh_return, which sets rsp from a register
 * and jumps; 9 where that is not come to.
 */
unsigned sp_code_calls_to_landing_pad(uintptr_t pc, uintptr_t function_lo, uintptr_t function_hi);

/* A call instruction before a return address. */
struct sp_code_call {
    uintptr_t target; /* of a direct one, else 0 */
    uintptr_t slot;   /* where its target is kept, `call *x(%rip)`, else 0 */
};

/* Reads the call that ends at return_address; nothing below code_lo is read. Returns false where there is none. */
bool sp_code_read_call(uintptr_t return_address, uintptr_t code_lo, struct sp_code_call *call);

/* The address of the pointer that a PLT stub at address jumps to, or 0 where there is no such stub. */
uintptr_t sp_code_read_stub(uintptr_t address, uintptr_t code_hi);

#endif
