/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"

namespace spwalk
{

plugin_options options;

void parse_options(const plugin_name_args *info)
{
    for (int i = 0; i < info->argc; i++) {
        const plugin_argument &argument = info->argv[i];
        if (strcmp(argument.key, "verbose") == 0) {
            options.verbose = true;
            options.verbose_file = argument.value;
        } else {
            error("spwalk: unknown argument %<-fplugin-arg-%s-%s%>; known is %<-fplugin-arg-%s-verbose[=FILE]%>",
                  info->base_name, argument.key, info->base_name);
        }
    }
}

} // namespace spwalk
