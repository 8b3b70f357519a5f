/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The store of the word, at the end of the prologue.
 */
#ifndef SPWALK_PLUGIN_PROLOGUE_H
#define SPWALK_PLUGIN_PROLOGUE_H

#include "gcc-compat.h"

namespace spwalk
{

/* Wraps GCC's generator of prologues. */
void install_prologue();

/* Whether an insn is the store of this word, while arguments of args_size bytes are on the stack below it. */
bool is_word_store(const rtx_insn *insn, uint32_t word, HOST_WIDE_INT args_size);

} // namespace spwalk

#endif
