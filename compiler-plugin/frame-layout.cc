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
 */
#include "coverage.h"
#include "frame-layout.h"
#include "word/word.h"

namespace spwalk
{

static const HOST_WIDE_INT word_size = 8;

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

static void compute_frame_layout()
{
    function_plan &plan = current_plan();

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
        /* The frame stays a multiple of this, so that less would be rounded up to it. */
        HOST_WIDE_INT added = MAX(word_size, (HOST_WIDE_INT)crtl->preferred_stack_boundary / BITS_PER_UNIT);
        grow_locals(added);
        gcc_compute_frame_layout();
        grow_locals(-added);
        plan.added = added;
    }
    plan.bottom = cfun->machine->frame.stack_pointer_offset;
    if (plan.bottom - word_size > SP_WORD_LENGTH_MAX) {
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
