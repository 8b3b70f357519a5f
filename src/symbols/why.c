/* SPDX-License-Identifier: MIT */
#include "why.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sp_why(char **why, const char *format, ...)
{
    if (why == NULL)
        return;
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    free(*why);
    *why = text;
}
