/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GCC emits a function's prologue as one sequence of insns, wherever shrink-wrapping decides to put it. The store of
 * the word becomes a part of that sequence (word-store.cc), so that it comes before all calls that need the frame.
 */
#include "coverage.h"
#include "frame-layout.h"
#include "prologue.h"
#include "word/word.h"

namespace spwalk
{

static rtx_insn *(*gcc_gen_prologue)(void);

/* Follows SP through the insns of a prologue, to tell where rbp is saved. */
struct prologue_scan {
    HOST_WIDE_INT depth = INCOMING_FRAME_SP_OFFSET; /* CFA - SP */
    bool depth_known = true;
    bool rbp_saved = false;
    HOST_WIDE_INT rbp_depth = -1; /* CFA - the address rbp is saved at; -1: not known */

    void set(const_rtx dest, const_rtx src);
    void insn(const rtx_insn *insn);
};

void prologue_scan::set(const_rtx dest, const_rtx src)
{
    HOST_WIDE_INT offset;

    if (is_register(dest, SP_REG)) {
        if (is_sp_plus(src, &offset))
            depth -= offset;
        else
            depth_known = false;
        return;
    }
    if (!MEM_P(dest))
        return;

    const_rtx address = XEXP(dest, 0);
    bool known = depth_known;
    if (GET_CODE(address) == PRE_DEC && is_register(XEXP(address, 0), SP_REG)) {
        depth += GET_MODE_SIZE(GET_MODE(dest));
        offset = 0;
    } else if (!is_sp_plus(address, &offset)) {
        known = false;
    }
    if (is_register(src, BP_REG)) {
        rbp_saved = true;
        rbp_depth = known ? depth - offset : -1;
    }
}

void prologue_scan::insn(const rtx_insn *insn)
{
    if (!NONDEBUG_INSN_P(insn))
        return;
    const_rtx pattern = PATTERN(insn);
    if (GET_CODE(pattern) == SET) {
        set(SET_DEST(pattern), SET_SRC(pattern));
    } else if (GET_CODE(pattern) == PARALLEL) {
        for (int i = 0; i < XVECLEN(pattern, 0); i++) {
            const_rtx element = XVECEXP(pattern, 0, i);
            if (GET_CODE(element) == SET)
                set(SET_DEST(element), SET_SRC(element));
        }
    }
}

/* The word's rbp slot, or -1 where rbp is saved and the word cannot say where, or is not saved though it is used. */
static int rbp_slot(const rtx_insn *sequence)
{
    prologue_scan scan;
    for (const rtx_insn *insn = sequence; insn != nullptr; insn = NEXT_INSN(insn))
        scan.insn(insn);

    if (!scan.rbp_saved)
        return df_regs_ever_live_p(BP_REG) && !call_used_or_fixed_reg_p(BP_REG) ? -1 : 0;
    HOST_WIDE_INT slot = scan.rbp_depth / 8 - 1;
    return scan.rbp_depth % 8 == 0 && slot >= 1 && slot <= SP_WORD_SLOT_MAX ? slot : -1;
}

static rtx_insn *gen_prologue()
{
    function_plan &plan = current_plan();
    if (plan.reason != uncovered::no)
        return gcc_gen_prologue();

    /* Generating the prologue begins with the last decision on realigning the stack, and where that differs from the
       guess that registers were allocated by, the frame is laid out anew, without the hook. The locals are then
       addressed from SP by the old layout's offsets, so that the new one must have the addition too. */
    grow_locals(plan.added);
    rtx_insn *sequence = gcc_gen_prologue();
    grow_locals(-plan.added);

    if (crtl->stack_realign_needed) {
        plan.reason = uncovered::realigned;
        return sequence;
    }
    if (cfun->machine->frame.stack_pointer_offset != plan.bottom || !has_room_for_word()) {
        plan.reason = uncovered::layout_changed;
        return sequence;
    }
    int slot = rbp_slot(sequence);
    if (slot < 0) {
        plan.reason = uncovered::rbp_unknown;
        return sequence;
    }
    plan.word = (uint32_t)SP_WORD_TAG | slot << SP_WORD_SLOT_SHIFT | (plan.bottom - 8) / 8;

    start_sequence();
    emit_insn(sequence);
    plan.store = emit_word_store(plan.word);
    sequence = get_insns();
    end_sequence();
    return sequence;
}

void install_prologue()
{
    gcc_gen_prologue = targetm.gen_prologue;
    targetm.gen_prologue = gen_prologue;
}

} // namespace spwalk
