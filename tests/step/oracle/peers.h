/* SPDX-License-Identifier: MIT */
/* The other walkers: peers.c where they can be loaded, peers_none.c in static programs. */
#ifndef STEP_PEERS_H
#define STEP_PEERS_H

#include "truth.h"

#include <ucontext.h>

void step_peers_setup(void);

/* A symbol of the program's, or NULL. */
void *step_peers_symbol(const char *name);

bool step_peers_libunwind(const ucontext_t *context, uint32_t limit, struct step_walk *walk);

/* Must run inside the trap's handler: backtrace(3) takes no context. */
bool step_peers_glibc(uint32_t limit, struct step_walk *walk);

#endif
