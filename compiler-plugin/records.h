/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frame records of src/word/record.h: where the covered code is and by what word.
 */
#ifndef SPWALK_PLUGIN_RECORDS_H
#define SPWALK_PLUGIN_RECORDS_H

namespace spwalk
{

/* Adds the passes that collect records, and the output of them at the end of the translation unit. */
void install_records(const char *plugin_name);

} // namespace spwalk

#endif
