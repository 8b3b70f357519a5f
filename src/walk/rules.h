/* SPDX-License-Identifier: MIT */
/*
 * A rule says how to leave a frame, in 64 bits, so that a table of rules can be read and written at any moment, by
 * handlers too, without a lock and without tearing.
 *
 *     kind SP         (sp, ra) = (sp + 8n, *(sp + 8n - 8))        rbp = slot ? *(cfa - 8 - 8 slot) : rbp
 *     kind RBP        (sp, ra) = (rbp + 8n, *(rbp + 8n - 8))      likewise, where cfa = the new sp
 *     kind SIGNAL     all registers from the ucontext at sp
 *     kind OUTERMOST  there is no caller
 *     kind COMPLEX    the CFI row says more than fits here: it is looked up and evaluated each time
 *
 *     bits 63..28  tag: what its place in the table leaves open of its look-up address
 *     bit  27      the rule is its function's frame word
 *     bit  26      the module may be unloaded: ask once a walk whether it is still the same
 *     bits 25..23  kind (0: none)
 *     bit  22      proven: it may be followed from an interrupted pc without a look at where it leads (proof.h)
 *     bits 21..18  rbp slot: 0 = not saved, n = saved at CFA - 8 - 8n
 *     bit  17      the code has been asked for a proof, and has none
 *     bits 16..0   n
 */
#ifndef SPWALK_RULES_H
#define SPWALK_RULES_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t sp_rule;

enum sp_rule_kind {
    SP_KIND_NONE,
    SP_KIND_SP,
    SP_KIND_RBP,
    SP_KIND_SIGNAL,
    SP_KIND_OUTERMOST,
    SP_KIND_COMPLEX,
};

#define SP_RULE_OFFSET_MAX ((UINT64_C(1) << 17) - 1)
#define SP_RULE_SLOT_MAX 15
#define SP_RULE_UNPROVABLE (UINT64_C(1) << 17)
#define SP_RULE_PROVEN (UINT64_C(1) << 22)
#define SP_RULE_VOLATILE (UINT64_C(1) << 26)
#define SP_RULE_BY_WORD (UINT64_C(1) << 27)
#define SP_RULE_TAG (~UINT64_C(0) << 28)

static inline sp_rule sp_rule_make(enum sp_rule_kind kind, uint64_t words, unsigned slot)
{
    return (uint64_t)kind << 23 | (uint64_t)slot << 18 | words;
}

static inline enum sp_rule_kind sp_rule_kind(sp_rule rule)
{
    return (enum sp_rule_kind)(rule >> 23 & 7);
}

/* The bytes from the rule's register to the CFA. */
static inline uint64_t sp_rule_offset(sp_rule rule)
{
    return (rule & SP_RULE_OFFSET_MAX) * 8;
}

static inline unsigned sp_rule_slot(sp_rule rule)
{
    return rule >> 18 & SP_RULE_SLOT_MAX;
}

/*
 * The per-address cache. A look-up address is a return address less 1, or an interrupted pc.
 *
 * Of its 48 bits a bijection makes 12 of the place and 36 of the tag, so a rule found is never another address's. The
 * page of the table goes by the page of the code: what is called from one place costs a process's first walk one page.
 */
#define SP_RULES_LOG2 12
#define SP_RULES_PAGE_LOG2 9 /* rules in a page */
#define SP_RULES_TAG_BITS (48 - SP_RULES_LOG2)

extern uint64_t sp_rules[1 << SP_RULES_LOG2];

/* The place in the upper 12 of 48 bits, the tag in the lower ones. */
static inline uint64_t sp_rules_hash(uintptr_t address)
{
    const unsigned code_page = 12, within = SP_RULES_TAG_BITS + SP_RULES_PAGE_LOG2;
    uint64_t page = (address >> code_page) * UINT64_C(0x9E3779B97) << (64 - 36) >> (64 - 36);
    uint64_t rest =
        (page << code_page | (address & 0xfff)) * UINT64_C(0x19E3779B97F5) << (64 - within) >> (64 - within);
    return page >> (within - code_page) << within | rest;
}

/* The rule for an address, or 0 where the cache has none. */
static inline sp_rule sp_rules_get(uintptr_t address)
{
    uint64_t hash = sp_rules_hash(address);
    uint64_t entry = __atomic_load_n(&sp_rules[hash >> SP_RULES_TAG_BITS], __ATOMIC_RELAXED);
    if (entry >> 28 != (hash & ((UINT64_C(1) << SP_RULES_TAG_BITS) - 1)) || address >> 48 != 0)
        return 0;
    return entry & ~SP_RULE_TAG;
}

static inline void sp_rules_put(uintptr_t address, sp_rule rule)
{
    uint64_t hash = sp_rules_hash(address);
    if (address >> 48 == 0)
        __atomic_store_n(&sp_rules[hash >> SP_RULES_TAG_BITS], hash << 28 | rule, __ATOMIC_RELAXED);
}

/* Forgets all, after a module has been replaced by another. */
void sp_rules_forget(void);

#endif
