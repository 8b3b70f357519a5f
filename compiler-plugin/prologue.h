/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prologue, with the store of the word in it.
 */
#ifndef SPWALK_PLUGIN_PROLOGUE_H
#define SPWALK_PLUGIN_PROLOGUE_H

#include "gcc-compat.h"

namespace spwalk
{

/* Wraps GCC's generator of prologues. */
void install_prologue();

} // namespace spwalk

#endif
