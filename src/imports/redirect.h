/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_IMPORTS_REDIRECT_H
#define SPWALK_IMPORTS_REDIRECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Enters the imports of a loaded, relocated object in the report and redirects to stubs those that are functions and
 * are to be counted; of a program whose imports are not, the one by which it enters main.
 * Not thread-safe; no other thread may be running the object's code.
 */
void imports_redirect(size_t index);

/* Lazy imports cannot be redirected, for the dynamic linker has LD_AUDIT or LD_PROFILE to serve. */
void imports_redirect_audited(void);

/* Enters in the report that none of the object's imports is counted, for one reason (an enum imports_reason). */
void imports_redirect_none(size_t index, uint32_t reason);

#endif
