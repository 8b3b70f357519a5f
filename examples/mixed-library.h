/* SPDX-License-Identifier: MIT */
#ifndef MIXED_LIBRARY_H
#define MIXED_LIBRARY_H

/* Calls visit for each node of a small tree, depth first. */
void mixed_visit(int depth, void (*visit)(int depth));

#endif
