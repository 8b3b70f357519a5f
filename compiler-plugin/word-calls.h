/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * At which calls [SP] is the word: not a guess but read from the finished code.
 */
#ifndef SPWALK_PLUGIN_WORD_CALLS_H
#define SPWALK_PLUGIN_WORD_CALLS_H

#include "gcc-compat.h"

namespace spwalk
{

/* Whether an insn is a call from which control comes back to this frame (no tail call). */
bool is_returning_call(const rtx_insn *insn);

/* Whether an insn is inline assembly, which may call. */
bool is_assembly(const rtx_insn *insn);

/* Whether an insn is where GCC will write the call of the profiler as text (-pg without -mfentry). */
bool is_profiler_call(const rtx_insn *insn);

/* Adds the pass that finds out, while there is still a control flow graph. */
void install_word_calls(const char *plugin_name);

/* Of the current function: whether [SP] is not, or may not be, the word at this call, which may be the profiler's.
   Valid until the function's final pass. */
bool is_call_without_word(const rtx_insn *call);

} // namespace spwalk

#endif
