/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_IMPORTS_POINTER_H
#define SPWALK_IMPORTS_POINTER_H

#include "imports/object.h"
#include "imports/sites.h"

/*
 * Whether the register that this instruction (a SITE_LOAD) loads a function's address into is used for nothing but
 * calls until it is overwritten, on every path. Compilers keep an address that they call repeatedly so (with
 * -fno-plt). false where that cannot be told.
 */
bool imports_only_called(const struct object *object, const struct site *site);

#endif
