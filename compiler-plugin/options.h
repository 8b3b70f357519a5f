/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plugin's options, -fplugin-arg-spwalk-NAME[=VALUE].
 */
#ifndef SPWALK_PLUGIN_OPTIONS_H
#define SPWALK_PLUGIN_OPTIONS_H

#include "gcc-compat.h"

namespace spwalk
{

struct plugin_options {
    FILE *report; /* where functions and coverage are listed; null: nowhere */
};

extern plugin_options options;

/* Reads the arguments. Each one that is not known is an error of the compilation. */
void parse_options(const plugin_name_args *info);

} // namespace spwalk

#endif
