/* SPDX-License-Identifier: MIT */
/*
 * What a reference binds to: the search that the dynamic linker makes, as far as it can be told from outside.
 *
 * The objects of the start come first, in the order of loading. For a library that was opened follows what it needs,
 * breadth first: these are its own, and others that were opened are not searched before them. Last comes the rest, of
 * which any may have been opened with RTLD_GLOBAL. What RTLD_DEEPBIND changes cannot be told: see imports_settle.
 */
#ifndef SPWALK_IMPORTS_SCOPE_H
#define SPWALK_IMPORTS_SCOPE_H

#include "imports/object.h"

/*
 * The definition that loaded object `user`'s reference to its symbol `index` binds to: in `user` itself first where it
 * is linked so, and not in `user` at all where `elsewhere` (for a copy relocation). *provider becomes the index + 1 of
 * the object that has it. Returns NULL where there is none. Not thread-safe.
 */
const Elf64_Sym *imports_scope_resolve(size_t user, size_t index, bool elsewhere, uint32_t *provider);

#endif
