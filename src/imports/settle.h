/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_IMPORTS_SETTLE_H
#define SPWALK_IMPORTS_SETTLE_H

#include <stdbool.h>

/*
 * A lazy import is entered in the report under the library that a search finds. Where RTLD_DEEPBIND, or a library that
 * was opened later, made the dynamic linker bind it to another, that is seen once it is bound: this looks at all that
 * are, and puts them right, the note of a first call too. Between imports_settle_begin and imports_settle_end no other
 * thread does so; imports_settle_begin returns false where one does.
 */
void imports_settle(void);
bool imports_settle_begin(void);
void imports_settle_end(void);

#endif
