/* SPDX-License-Identifier: MIT */
#include "imports/pointer.h"

bool imports_only_called(const struct object *object, const struct site *site)
{
    (void)object;
    (void)site;
    return false;
}
