/* SPDX-License-Identifier: MIT */
#include "peers.h"

void step_peers_setup(void)
{
}

void *step_peers_symbol(const char *name)
{
    (void)name;
    return NULL;
}

bool step_peers_libunwind(const ucontext_t *context, uint32_t limit, struct step_walk *walk)
{
    (void)context;
    (void)limit;
    (void)walk;
    return false;
}

bool step_peers_glibc(uint32_t limit, struct step_walk *walk)
{
    (void)limit;
    (void)walk;
    return false;
}
