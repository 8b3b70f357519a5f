/* SPDX-License-Identifier: MIT */
#include "walk/start.h"

#include "walk/load.h"

#include <stddef.h>
#include <ucontext.h>

_Static_assert(offsetof(ucontext_t, uc_mcontext.gregs) == SP_UCONTEXT_GREGS, "the kernel's layout");

struct sp_start sp_start_context(const void *ucontext)
{
    uintptr_t at = (uintptr_t)ucontext;
    return (struct sp_start){sp_load(at + SP_UCONTEXT_RIP),
                             sp_load(at + SP_UCONTEXT_RSP),
                             sp_load(at + SP_UCONTEXT_RBP),
                             true,
                             NULL,
                             ucontext};
}

bool sp_leaves_alternate_stack(uintptr_t ucontext, uintptr_t sp)
{
    uintptr_t lo = sp_load(ucontext + SP_UCONTEXT_STACK_LO), size = sp_load(ucontext + SP_UCONTEXT_STACK_SIZE);
    return ucontext - lo < size && sp - lo >= size;
}

void sp_registers_from_ucontext(uintptr_t ucontext, struct sp_cfi_registers *registers)
{
    /* The kernel's order of gregs for DWARF's order of registers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8.., rip. */
    static const uint8_t places[SP_CFI_REGISTERS] = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16};
    for (unsigned i = 0; i < SP_CFI_REGISTERS; i++)
        registers->value[i] = sp_load(ucontext + SP_UCONTEXT_GREGS + 8 * places[i]);
    registers->known = (1u << SP_CFI_REGISTERS) - 1;
}
