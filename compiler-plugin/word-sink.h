/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the word is stored in functions that rarely call.
 */
#ifndef SPWALK_PLUGIN_WORD_SINK_H
#define SPWALK_PLUGIN_WORD_SINK_H

namespace spwalk
{

/* Adds the pass that moves the store out of the prologue. */
void install_word_sink(const char *plugin_name);

} // namespace spwalk

#endif
