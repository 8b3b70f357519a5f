/* SPDX-License-Identifier: MIT */
/*
 * Who uses a GLOB_DAT slot, and how.
 *
 * With -fno-plt, and in .plt.got where a program both calls a function and takes its address, a call goes through the
 * same slot that the address is loaded from. A slot that is only called through can be redirected. One that is also
 * loaded cannot, for the value would compare unequal to the function's address elsewhere: there the calling
 * instructions are made to use another slot.
 *
 * The instructions are found by their RIP-relative operand: every position of the code is tried as such an operand,
 * and one that gives a slot's address is looked at together with the opcode and ModRM byte in front of it (Intel SDM
 * volume 2, 2.1.5 and 2.2.1.6). A chance hit on all of these bytes has a probability below 2^-40 a position.
 */
#ifndef SPWALK_IMPORTS_SITES_H
#define SPWALK_IMPORTS_SITES_H

#include "imports/object.h"

enum site_kind {
    SITE_CALL, /* call or jmp through the slot */
    SITE_TEST, /* compares the slot with 0: harmless, a stub is not 0 either */
    SITE_LOAD, /* mov slot, register */
    SITE_OTHER /* anything else: the value may go anywhere */
};

struct site {
    unsigned char *operand; /* the 32-bit displacement */
    uint32_t slot;          /* index into the slots given */
    uint8_t kind;           /* an enum site_kind */
    uint8_t register_number;
};

/*
 * Finds the uses of `count` slots (addresses, ascending) in the object's code and hands each to `found`. An operand
 * that spans the end of a segment is not one.
 */
void imports_find_sites(const struct object *object, const uintptr_t *slots, size_t count,
                        void (*found)(const struct site *site, void *argument), void *argument);

#endif
