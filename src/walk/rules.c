/* SPDX-License-Identifier: MIT */
#include "walk/rules.h"

/* By the page, as the first of them is all that many processes ever touch. */
__attribute__((aligned(4096))) uint64_t sp_rules[1 << SP_RULES_LOG2];

/* Beside the table they would take one more page; the first one of .data has been written when a program starts. */
__attribute__((section(".data"))) uint64_t sp_rules_further;
__attribute__((section(".data"))) static uint32_t displaced;

enum {
    FIRST_PLACES = 1 << SP_RULES_FIRST_LOG2,
    PLACES = 1 << SP_RULES_LOG2,
    ENOUGH_DISPLACED = 24, /* of the rules of a hundred frames, the first walk's, about ten displace others */
};

/*
 * A handler may walk at any moment of this, and other threads do: what they find is right in either size of the table.
 * Rules of modules that may be unloaded are left behind, as sp_rules_forget may have forgotten them meanwhile.
 */
static void use_all_pages(void)
{
    for (uint64_t place = 0; place < FIRST_PLACES; place++) {
        uint64_t entry = __atomic_load_n(&sp_rules[place], __ATOMIC_RELAXED);
        uint64_t further = entry >> (64 - SP_RULES_LOG2 + SP_RULES_FIRST_LOG2) << SP_RULES_FIRST_LOG2;
        if (further != 0 && !(entry & SP_RULE_VOLATILE))
            __atomic_store_n(&sp_rules[further | place], entry, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&sp_rules_further, PLACES - FIRST_PLACES, __ATOMIC_RELEASE);
}

void sp_rules_put(uintptr_t address, sp_rule rule)
{
    if (address >> 47 != 0)
        return;
    uint64_t hash = sp_rules_hash(address), tag = sp_rules_tag(hash);
    uint64_t *at = &sp_rules[sp_rules_place(hash)], old = __atomic_load_n(at, __ATOMIC_RELAXED);
    __atomic_store_n(at, tag | rule, __ATOMIC_RELAXED);
    if (old != 0 && ((old ^ tag) & SP_RULE_TAG) != 0 && __atomic_load_n(&sp_rules_further, __ATOMIC_RELAXED) == 0 &&
        __atomic_fetch_add(&displaced, 1, __ATOMIC_RELAXED) == ENOUGH_DISPLACED)
        use_all_pages();
}

void sp_rules_forget(void)
{
    /* In either size of the table, whichever others know of. Pages that nothing was put in stay untouched. */
    for (unsigned i = 0; i < PLACES; i++)
        if (__atomic_load_n(&sp_rules[i], __ATOMIC_RELAXED) != 0)
            __atomic_store_n(&sp_rules[i], 0, __ATOMIC_RELAXED);
}
