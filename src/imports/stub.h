/* SPDX-License-Identifier: MIT */
/*
 * The code that counts. One stub an import:
 *
 *             endbr64
 *             mov     %fs:BLOCK, %r11
 *             cmpq    $0, 8*IMPORT(%r11)
 *             je      first
 *             incq    8*IMPORT(%r11)
 *             jmp     *target(%rip)
 *     first:  push    $IMPORT
 *             jmp     *imports_enter_first_call(%rip)
 *     bind:   endbr64
 *             push    $RELOCATION
 *             jmp     resolve
 *
 * It changes r11 and the flags, which no call passes anything in, and it jumps: the callee sees the caller's stack.
 *
 * The target of an import that is not bound yet is its own `bind`, which enters the dynamic linker as a PLT entry does
 * (System V psABI AMD64, 5.2: the relocation's index and the object pushed, then a jump through the third word of the
 * PLT's GOT). The linker writes the function's address where that relocation says. It would say the slot, and the
 * stub would be lost from it, so the index given is that of a relocation of our own, which names the same symbol and
 * as its place `target`. The linker takes it by its distance from the object's own relocations: hence the stubs of an
 * object with lazy imports lie above it, within the 32-bit index's reach.
 */
#ifndef SPWALK_IMPORTS_STUB_H
#define SPWALK_IMPORTS_STUB_H

#include "imports/object.h"

struct imports_stubs {
    size_t size; /* of the whole mapping, which begins here */
    size_t count, bind_count;
    uintptr_t *targets;
    Elf64_Rela *bindings;
    unsigned char *code;
    size_t code_size;
    uintptr_t
        *near_slots; /* a slot of our own for each stub, in reach of the object's code; NULL until it is asked for */
    size_t near_size;
};

/* Maps room for `count` stubs, `bind_count` of them with lazy binding. Returns NULL where there is no such room. */
struct imports_stubs *imports_stubs_create(const struct object *object, size_t count, size_t bind_count);

/* Writes stub `index`, which counts import number `import` and goes on at `target`. */
void imports_stub_write(struct imports_stubs *stubs, size_t index, uint32_t import, uintptr_t target);

/* The same for an import that is bound by its first call; `relocation` is its JUMP_SLOT relocation. */
void imports_stub_write_lazy(struct imports_stubs *stubs, const struct object *object, size_t index, uint32_t import,
                             const Elf64_Rela *relocation);

/* The address of stub `index`. */
uintptr_t imports_stub_address(const struct imports_stubs *stubs, size_t index);

/* The slot of our own that holds stub `index`'s address, within 2 GiB of the object; NULL where there is no room. */
uintptr_t *imports_stub_near_slot(struct imports_stubs *stubs, const struct object *object, size_t index);

/* Makes the stubs executable, and no longer writable. Returns false where the system refuses. */
bool imports_stubs_finish(struct imports_stubs *stubs);

/* The slots of our own become read-only. */
void imports_stubs_seal(struct imports_stubs *stubs);

/* Unmaps all. */
void imports_stubs_destroy(struct imports_stubs *stubs);

#endif
