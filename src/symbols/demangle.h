/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_DEMANGLE_H
#define SPWALK_DEMANGLE_H

/*
 * The C++ name that a symbol stands for (Itanium C++ ABI, "External Names"), to be freed; NULL where it is no mangled
 * name, or where no demangler is there.
 */
char *sp_demangle(const char *name);

#endif
