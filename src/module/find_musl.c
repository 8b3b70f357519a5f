/* SPDX-License-Identifier: MIT */
/*
 * Finding modules with musl. Its dl_iterate_phdr takes a read lock between two modules of a dynamic program: a handler
 * that has interrupted dlopen in the same thread would wait for itself there. Only the first walk through a module
 * asks.
 */
#include "module/listed.h"

bool sp_module_find(uintptr_t address, struct sp_module *module)
{
    return sp_module_find_listed(address, module);
}

/* musl's dlclose unloads nothing, and of a library whose dlopen failed no code has run. */
bool sp_module_is_permanent(const struct sp_module *module)
{
    (void)module;
    return true;
}
