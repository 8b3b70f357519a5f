/* SPDX-License-Identifier: MIT */
/* Opened at run time: calls the target from its constructor, from a function, and from its destructor. */
#include "target.h"

#ifndef NO_CONSTRUCTOR
__attribute__((constructor)) static void start(void)
{
    for (int i = 0; i < 3; i++)
        target_plain();
}
#endif

void plugin_run(int count)
{
    for (int i = 0; i < count; i++)
        target_plain();
}

__attribute__((destructor)) static void end(void)
{
    target_plain();
}
