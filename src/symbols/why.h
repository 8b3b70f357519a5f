/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_WHY_H
#define SPWALK_WHY_H

/*
 * Sets *why to a text of the printf kind, freeing what was there; with why NULL it does nothing. Whoever passed the
 * pointer frees the text. Where memory is short *why becomes NULL: a reason may be missing, a result never depends on
 * one.
 */
void sp_why(char **why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
