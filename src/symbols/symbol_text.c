/* SPDX-License-Identifier: MIT */
#include <spwalk_symbols.h>

const char *sp_source_name(enum sp_source source)
{
    static const char *const names[] = {"none", "symtab", "debug file", "debugdata", "dynsym", "map"};
    return (unsigned)source < sizeof names / sizeof names[0] ? names[source] : "unknown";
}

const char *sp_miss_name(enum sp_miss miss)
{
    static const char *const names[] = {
        "none",
        "in no module",
        "no symbols",
        "before the first function",
        "after the last function",
        "between functions",
        "unreadable",
    };
    return (unsigned)miss < sizeof names / sizeof names[0] ? names[miss] : "unknown";
}
