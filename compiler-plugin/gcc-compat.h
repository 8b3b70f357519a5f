/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GCC's own headers, in an order that they bear, and all that depends on which GCC the plugin is built against.
 * Nothing else in the plugin asks for GCC's version.
 */
#ifndef SPWALK_PLUGIN_GCC_COMPAT_H
#define SPWALK_PLUGIN_GCC_COMPAT_H

/* The plugin is in effect a part of the i386 back end. */
#define IN_TARGET_CODE 1

#include "gcc-plugin.h"
#include "tm.h"
#include "memmodel.h"
#include "stringpool.h"
#include "target.h"
#include "function.h"
#include "rtl.h"
#include "tree.h"
#include "attribs.h"
#include "cgraph.h"
#include "context.h"
#include "df.h"
#include "diagnostic-core.h"
#include "emit-rtl.h"
#include "insn-attr.h"
#include "output.h"
#include "regs.h"
#include "rtl-iter.h"
#include "sreal.h"
#include "tree-pass.h"
#include "varasm.h"

namespace spwalk
{

/* The bytes of the current function's locals. On x86-64 this is never a polynomial. */
inline HOST_WIDE_INT locals_size()
{
    return get_frame_size().to_constant();
}

/* Makes the locals' area longer (at its low end, as the frame grows downwards) or shorter. */
inline void grow_locals(HOST_WIDE_INT bytes)
{
    frame_offset -= bytes;
}

/* The value of a REG_ARGS_SIZE note: bytes of arguments, and of padding for them, on the stack after its insn. */
inline HOST_WIDE_INT args_size_of(const_rtx note)
{
    return get_args_size(note).to_constant();
}

/*
 * Emits after an insn a label that the assembler sees and no pass of GCC minds: the note that GCC leaves where a
 * label was deleted that debug information still needs. emit_note_after refuses to make this kind, so it is made from
 * another. Returns the number n of the label .Ln.
 */
inline int emit_label_note(rtx_insn *where, bool before)
{
    int number = CODE_LABEL_NUMBER(gen_label_rtx());
    rtx_note *note = before ? emit_note_before(NOTE_INSN_DELETED, where) : emit_note_after(NOTE_INSN_DELETED, where);
    NOTE_KIND(note) = NOTE_INSN_DELETED_LABEL;
    NOTE_DELETED_LABEL_NAME(note) = "";
    CODE_LABEL_NUMBER(note) = number;
    return number;
}

} // namespace spwalk

#endif
