/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a function's address that an instruction loads.
 *
 * With -fno-plt a compiler may keep the address of a function that it calls repeatedly in a register, and it loads the
 * address of a weak function to see whether it is 0. Neither lets the address out: it is followed from the load along
 * every path until it is overwritten, and any use but a call, a jump or a comparison with 0 counts as letting it out.
 * So does what cannot be told: an instruction that is not known, a jump through a table, a call while the register is
 * one that arguments are passed in. Paths that only an exception takes are not followed.
 */
#ifndef SPWALK_IMPORTS_POINTER_H
#define SPWALK_IMPORTS_POINTER_H

#include "imports/object.h"
#include "imports/sites.h"

enum pointer_use {
    POINTER_TESTED, /* compared with 0 at most */
    POINTER_CALLED, /* called, and compared with 0 at most */
    POINTER_OUT     /* anything else */
};

/* site: of kind SITE_LOAD. */
enum pointer_use imports_pointer_use(const struct object *object, const struct site *site);

#endif
