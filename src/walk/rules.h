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
 *     bits 63..26  tag: what its place in the table leaves open of its look-up address
 *     bit  25      the module may be unloaded: ask once a walk whether it is still the same
 *     bits 24..22  kind (0: none)
 *     bits 21..20  state: what else is known of it
 *     bits 19..16  rbp slot: 0 = not saved, n = saved at CFA - 8 - 8n
 *     bits 15..0   n - 1
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

/* Words: the longest frame that has a word has so many. */
#define SP_RULE_OFFSET_MAX (UINT64_C(1) << 16)
#define SP_RULE_SLOT_MAX 15
#define SP_RULE_VOLATILE (UINT64_C(1) << 25)
#define SP_RULE_TAG (~UINT64_C(0) << 26)

/* The states, of which no two go together: the first is for return addresses, the others for interrupted pcs. */
#define SP_RULE_BY_WORD (UINT64_C(1) << 20)    /* the rule is its function's frame word */
#define SP_RULE_PROVEN (UINT64_C(2) << 20)     /* it may be followed without a look at where it leads (proof.h) */
#define SP_RULE_UNPROVABLE (UINT64_C(3) << 20) /* the code has been asked for a proof, and has none */
#define SP_RULE_STATE (UINT64_C(3) << 20)

static inline sp_rule sp_rule_make(enum sp_rule_kind kind, uint64_t words, unsigned slot)
{
    return (uint64_t)kind << 22 | (uint64_t)slot << 16 | (words != 0 ? words - 1 : 0);
}

static inline sp_rule sp_rule_state(sp_rule rule)
{
    return rule & SP_RULE_STATE;
}

static inline sp_rule sp_rule_in_state(sp_rule rule, sp_rule state)
{
    return (rule & ~SP_RULE_STATE) | state;
}

static inline enum sp_rule_kind sp_rule_kind(sp_rule rule)
{
    return (enum sp_rule_kind)(rule >> 22 & 7);
}

/* The bytes from the rule's register to the CFA, of a rule of kind SP or RBP. */
static inline uint64_t sp_rule_offset(sp_rule rule)
{
    return ((rule & 0xFFFF) + 1) * 8;
}

static inline unsigned sp_rule_slot(sp_rule rule)
{
    return rule >> 16 & SP_RULE_SLOT_MAX;
}

/*
 * The per-address cache. A look-up address is a return address less 1, or an interrupted pc.
 *
 * Of the 47 bits of a program's addresses a bijection makes 9 of the place and 38 of the tag, so a rule found is never
 * another address's. The table is one page at first, since each page is one more for a process's first walks to wait
 * for. Once a few rules have taken the place of others it is all the pages that there are: three bits of the tag are
 * then bits of the place as well.
 */
#define SP_RULES_LOG2 12
#define SP_RULES_FIRST_LOG2 9

extern uint64_t sp_rules[1 << SP_RULES_LOG2];
extern uint64_t sp_rules_further; /* the bits of a place that are used beside the first 9: none, or all */

/* In the upper 47 bits: the place, then the tag. */
static inline uint64_t sp_rules_hash(uintptr_t address)
{
    return address * (UINT64_C(0x4F1BBCDCBFA5) << 17);
}

static inline uint64_t sp_rules_place(uint64_t hash)
{
    return hash >> (64 - SP_RULES_FIRST_LOG2) |
           (hash >> (64 - SP_RULES_FIRST_LOG2 - SP_RULES_LOG2) & __atomic_load_n(&sp_rules_further, __ATOMIC_RELAXED));
}

/* An entry is this and the rule. */
static inline uint64_t sp_rules_tag(uint64_t hash)
{
    return hash << SP_RULES_FIRST_LOG2;
}

/* The rule for an address, or 0 where the cache has none. */
static inline sp_rule sp_rules_get(uintptr_t address)
{
    uint64_t hash = sp_rules_hash(address);
    uint64_t rule = __atomic_load_n(&sp_rules[sp_rules_place(hash)], __ATOMIC_RELAXED) ^ sp_rules_tag(hash);
    return (rule & SP_RULE_TAG) == 0 && address >> 47 == 0 ? rule : 0;
}

void sp_rules_put(uintptr_t address, sp_rule rule);

/* Forgets all, after a module has been replaced by another. */
void sp_rules_forget(void);

#endif
