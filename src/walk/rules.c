/* SPDX-License-Identifier: MIT */
#include "walk/rules.h"

uint64_t sp_rules[1 << SP_RULES_LOG2];

void sp_rules_forget(void)
{
    for (unsigned i = 0; i < sizeof sp_rules / sizeof sp_rules[0]; i++)
        __atomic_store_n(&sp_rules[i], 0, __ATOMIC_RELAXED);
}
