/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The i386 back end lays a frame out as (offsets grow downwards from the CFA):
 *
 *     return address | saved registers | va_arg registers | pad | locals | outgoing arguments and pad | <- SP
 *
 * It does so many times while registers are allocated, until nothing changes. Elimination offsets, CFI and the
 * unwinder's tables are all made from the layout, so that a longer frame needs no other change.
 *
 * Where the last pad is 8 bytes or more, the word goes there and costs no stack. Else the layout is made once more with
 * longer locals: as if the function had one more variable, below all others. Pretending so, rather than adding to
 * stack_pointer_offset afterwards, lets GCC take the word into account in all that it derives from the size: saving
 * registers by push or mov, stack probes, the alignment.
 *
 * How much longer: SP is a multiple of 16 at each call, so that where no room is left the word takes 16 bytes, and 8 of
 * them are filled for nothing. GCC keeps that alignment for callees that it does not know, and takes a function that
 * calls itself for one. A function that calls none but itself and such as are known to do with 8, and that has no
 * aligned variable of its own, needs no alignment, and its word takes 8 bytes. What others know of it is left as it
 * was: they call it with SP aligned.
 */
#include "coverage.h"
#include "frame-layout.h"
#include "word-calls.h"
#include "word/word.h"

namespace spwalk
{

static const HOST_WIDE_INT word_size = 8;
static const unsigned word_alignment = 64; /* bits */

static void (*gcc_compute_frame_layout)(void);

bool has_room_for_word()
{
    const struct ix86_frame &frame = cfun->machine->frame;
    HOST_WIDE_INT size = locals_size();
    HOST_WIDE_INT used;

    if (size > 0)
        used = frame.frame_pointer_offset + size;
    else if (crtl->stack_realign_needed)
        used = frame.frame_pointer_offset;
    else
        used = frame.sse_reg_save_offset + frame.va_arg_size;
    return frame.outgoing_arguments_size == 0 && frame.stack_pointer_offset - used >= word_size;
}

/* Whether a call's callee does with an SP that is a multiple of 8. */
static bool does_without_alignment(const rtx_insn *call)
{
    const_rtx callee = XEXP(XEXP(get_call_rtx_from(const_cast<rtx_insn *>(call)), 0), 0);
    if (GET_CODE(callee) != SYMBOL_REF || SYMBOL_REF_DECL(callee) == NULL_TREE ||
        TREE_CODE(SYMBOL_REF_DECL(callee)) != FUNCTION_DECL)
        return false;
    tree decl = SYMBOL_REF_DECL(callee);
    if (decl == current_function_decl)
        return decl_binds_to_current_def_p(decl);
    const cgraph_rtl_info *info = cgraph_node::rtl_info(decl);
    return info != nullptr && info->preferred_incoming_stack_boundary != 0 &&
           info->preferred_incoming_stack_boundary <= word_alignment;
}

/* Whether all that the current function calls does; tail calls have the SP that the function was called with. */
static bool calls_without_alignment()
{
    /* Calls that are no call insns. */
    if (!flag_ipa_stack_alignment || crtl->profile || flag_split_stack || ix86_current_function_calls_tls_descriptor)
        return false;
    for (const rtx_insn *insn = get_insns(); insn != nullptr; insn = NEXT_INSN(insn))
        if (is_assembly(insn) || (CALL_P(insn) && !does_without_alignment(insn)))
            return false;
    return true;
}

/* The bytes by which the frame grows for the word. */
static HOST_WIDE_INT choose_growth(function_plan &plan)
{
    /* Less would be rounded up. */
    HOST_WIDE_INT usual = MAX(word_size, (HOST_WIDE_INT)crtl->preferred_stack_boundary / BITS_PER_UNIT);
    if (usual == word_size || crtl->max_used_stack_slot_alignment > word_alignment || crtl->stack_realign_needed ||
        cfun->machine->frame.va_arg_size != 0 || maybe_ne(crtl->args.size, 0) || cfun->machine->outgoing_args_on_stack)
        return usual;
    if (plan.alignment == alignment_need::unknown)
        plan.alignment = calls_without_alignment() ? alignment_need::none : alignment_need::usual;
    return plan.alignment == alignment_need::none ? word_size : usual;
}

static void compute_frame_layout()
{
    function_plan &plan = current_plan();

    if (plan.usual_boundary != 0)
        crtl->preferred_stack_boundary = plan.usual_boundary;
    gcc_compute_frame_layout();
    plan.added = 0;
    plan.reason = cannot_cover();
    if (plan.reason != uncovered::no)
        return;
    if (cfun->machine->frame.outgoing_arguments_size != 0) {
        plan.reason = uncovered::arguments_below;
        return;
    }
    if (!has_room_for_word()) {
        HOST_WIDE_INT added = choose_growth(plan);
        plan.usual_boundary = crtl->preferred_stack_boundary;
        crtl->preferred_stack_boundary = MIN(crtl->preferred_stack_boundary, added * BITS_PER_UNIT);
        grow_locals(added);
        gcc_compute_frame_layout();
        grow_locals(-added);
        plan.added = added;
    }
    plan.bottom = cfun->machine->frame.stack_pointer_offset;
    if (plan.bottom - word_size > SP_WORD_LENGTH_MAX) {
        if (plan.usual_boundary != 0)
            crtl->preferred_stack_boundary = plan.usual_boundary;
        gcc_compute_frame_layout();
        plan.added = 0;
        plan.reason = uncovered::too_long;
    }
}

void install_frame_layout()
{
    gcc_compute_frame_layout = targetm.compute_frame_layout;
    targetm.compute_frame_layout = compute_frame_layout;
}

} // namespace spwalk
