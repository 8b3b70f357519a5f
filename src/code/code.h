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

#endif
