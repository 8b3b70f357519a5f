/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Room for the word: 8 bytes at the frame's lowest address that nothing else uses.
 */
#ifndef SPWALK_PLUGIN_FRAME_LAYOUT_H
#define SPWALK_PLUGIN_FRAME_LAYOUT_H

namespace spwalk
{

/* Wraps GCC's hook that lays out a frame. */
void install_frame_layout();

/* Whether the current layout leaves 8 bytes at the frame's lowest address that nothing else uses. */
bool has_room_for_word();

} // namespace spwalk

#endif
