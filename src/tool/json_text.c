/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *sp_json_text(const char *bytes)
{
    if (bytes == NULL)
        return json_null();
    json_t *string = json_string(bytes);
    char *escaped = string ? NULL : malloc(4 * strlen(bytes) + 1), *end = escaped;
    if (escaped == NULL)
        return string;
    for (; *bytes != '\0'; bytes++)
        end += sprintf(end, *bytes & 0x80 ? "\\x%02x" : "%c", (unsigned char)*bytes);
    string = json_string(escaped);
    free(escaped);
    return string;
}
