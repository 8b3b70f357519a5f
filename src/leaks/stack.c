/* SPDX-License-Identifier: MIT */
#include "leaks/stack.h"

#include "walk/bounds.h"
#include "walk/load.h"
#include "walk/modules.h"
#include "walk/rules.h"
#include "walk/thread.h"
#include "word/coverage.h"
#include "word/word.h"

unsigned leaks_stack_walk_fully(const struct sp_own_registers *caller, void **pcs, unsigned max, bool *is_cut)
{
    struct sp_start start = sp_start_own(caller);
    struct sp_sink sink = {pcs, NULL, (int)max};
    enum sp_end end;
    int count = sp_walk_fast(&start, &sink, &end);
    *is_cut = end == SP_END_FULL;
    return (unsigned)count;
}

static inline unsigned walk_by_rules(const struct sp_own_registers *caller, void **pcs, unsigned max, bool *is_cut)
{
    const struct sp_stacks *stacks = &sp_thread.stacks;
    uintptr_t pc = caller->pc, sp = sp_own_sp(caller), rbp = caller->rbp;
    if (__builtin_expect(sp < stacks->own_lo || sp >= stacks->own_hi, 0))
        return 0;
    const uintptr_t last = stacks->own_hi - 8;
    const struct sp_coverage coverage = sp_modules_program_coverage();
    for (unsigned n = 0; n < max;) {
        pcs[n++] = (void *)pc;
        uintptr_t caller_sp;
        unsigned slot;
        if (sp_covered(&coverage, pc - 1)) {
            uint64_t word = sp_load(sp);
            if (!sp_word_is_plausible(word))
                return 0;
            caller_sp = sp + sp_word_length(word) + 8;
            slot = sp_word_rbp_slot(word);
        } else {
            sp_rule rule = sp_rules_get(pc - 1);
            if (__builtin_expect(rule & SP_RULE_VOLATILE, 0))
                return 0;
            enum sp_rule_kind kind = sp_rule_kind(rule);
            if (kind == SP_KIND_SP)
                caller_sp = sp;
            else if (kind == SP_KIND_RBP)
                caller_sp = rbp;
            else if (kind == SP_KIND_OUTERMOST)
                return *is_cut = false, n;
            else
                return 0;
            caller_sp += sp_rule_offset(rule);
            slot = sp_rule_slot(rule);
        }
        if (__builtin_expect(caller_sp <= sp || caller_sp - 8 > last || caller_sp - 8 - 8 * (uintptr_t)slot < sp, 0))
            return 0;
        pc = sp_load(caller_sp - 8);
        if (slot != 0)
            rbp = sp_load(caller_sp - 8 - 8 * (uintptr_t)slot);
        sp = caller_sp;
    }
    *is_cut = true;
    return pc == 0 ? 0 : max;
}

unsigned leaks_stack_walk_by_rules(const struct sp_own_registers *caller, void **pcs, unsigned max, bool *is_cut)
{
    return walk_by_rules(caller, pcs, max, is_cut);
}

unsigned leaks_stack_walk(const struct sp_own_registers *caller, void **pcs, unsigned max, bool *is_cut)
{
    unsigned count = walk_by_rules(caller, pcs, max, is_cut);
    return __builtin_expect(count != 0, 1) ? count : leaks_stack_walk_fully(caller, pcs, max, is_cut);
}
