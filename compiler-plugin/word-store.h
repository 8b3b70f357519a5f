/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one instruction that stores the word.
 */
#ifndef SPWALK_PLUGIN_WORD_STORE_H
#define SPWALK_PLUGIN_WORD_STORE_H

#include "gcc-compat.h"

namespace spwalk
{

bool is_register(const_rtx x, unsigned regno);

/* Whether x is SP + *offset. */
bool is_sp_plus(const_rtx x, HOST_WIDE_INT *offset);

/* Adds the store to the prologue that the current sequence of insns holds, with the frame whole after it. */
void emit_word_store(uint32_t word);

/* Whether an insn is the store of this word, while arguments of args_size bytes are on the stack below it. */
bool is_word_store(const rtx_insn *insn, uint32_t word, HOST_WIDE_INT args_size);

} // namespace spwalk

#endif
