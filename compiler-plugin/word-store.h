/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The instruction that stores the word.
 */
#ifndef SPWALK_PLUGIN_WORD_STORE_H
#define SPWALK_PLUGIN_WORD_STORE_H

#include "gcc-compat.h"

namespace spwalk
{

bool is_register(const_rtx x, unsigned regno);

/* Whether x is SP + *offset. */
bool is_sp_plus(const_rtx x, HOST_WIDE_INT *offset);

/* The store in a prologue. */
struct word_store {
    rtx_insn *insn; /* null: there is none */
    rtx_insn *rest; /* where insn is a push: what makes the rest of the room that the push has a part of */
    bool is_free;   /* insn makes all the room that the frame had to make also without the word */
};

/* Adds the store to the prologue that the current sequence of insns holds, with the frame whole after it. */
word_store emit_word_store(uint32_t word);

/* Takes the store out of the prologue, which is now part of a frame reckoned from SP, and puts one at the start of each
   of the blocks. */
void move_word_store(const word_store &store, uint32_t word, const vec<basic_block> &blocks);

/* Whether an insn is the store of this word, while arguments of args_size bytes are on the stack below it. */
bool is_word_store(const rtx_insn *insn, uint32_t word, HOST_WIDE_INT args_size);

} // namespace spwalk

#endif
