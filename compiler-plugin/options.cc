/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"

namespace spwalk
{

plugin_options options;

static FILE *open_report(const char *path)
{
    if (path == nullptr)
        return stderr;
    FILE *stream = fopen(path, "a");
    if (stream == nullptr)
        error("spwalk: cannot append to %qs: %m", path);
    else
        /* One write a line, so that the lines of a parallel build stay whole. */
        setvbuf(stream, nullptr, _IOLBF, BUFSIZ);
    return stream;
}

void parse_options(const plugin_name_args *info)
{
    for (int i = 0; i < info->argc; i++) {
        const plugin_argument &argument = info->argv[i];
        if (strcmp(argument.key, "verbose") == 0) {
            if (argument.value != nullptr && *argument.value == '\0')
                error("spwalk: %<-fplugin-arg-%s-verbose=%> needs a file to append to; without %<=%> it lists to "
                      "standard error",
                      info->base_name);
            else
                options.report = open_report(argument.value);
        } else {
            error("spwalk: unknown argument %<-fplugin-arg-%s-%s%>; known is %<-fplugin-arg-%s-verbose[=FILE]%>",
                  info->base_name, argument.key, info->base_name);
        }
    }
}

} // namespace spwalk
