/* SPDX-License-Identifier: MIT */
#include "walk/proof.h"

#include "code/code.h"

#include "walk/load.h"
#include "walk/modules.h"
#include "walk/row.h"

#include <elf.h>
#include <stddef.h>

/* A call's opcode and what follows that are at most 7 bytes. */
enum { CALL_MOST = 8 };

/* The call before a return address, and the module it is in, or NULL for none. */
struct call_site {
    struct sp_code_call call;
    bool has_module;
    struct sp_known_module known;
};

static bool find_call(uintptr_t return_address, struct call_site *site)
{
    uintptr_t lo, hi;
    site->has_module = sp_known_get(return_address - 1, &site->known);
    if (site->has_module) {
        if (!sp_module_segment(&site->known.module, return_address - 1, PF_R | PF_X, &lo, &hi))
            return false;
        return sp_code_read_call(return_address, lo, &site->call);
    }
    lo = return_address - CALL_MOST;
    if (lo > return_address || !sp_is_readable(lo))
        return false;
    /* It may be any memory: it is read as such, and what is looked at is a copy. */
    const uint64_t code = sp_load(lo);
    const uintptr_t copy_end = (uintptr_t)(&code + 1);
    if (!sp_code_read_call(copy_end, (uintptr_t)&code, &site->call))
        return false;
    if (site->call.target != 0)
        site->call.target += return_address - copy_end;
    site->call.slot = 0;
    return true;
}

static bool read_slot(const struct sp_module *module, uintptr_t slot, uintptr_t *target)
{
    uintptr_t lo, hi;
    if (!sp_module_segment(module, slot, PF_R, &lo, &hi) || hi - slot < 8)
        return false;
    *target = sp_load(slot);
    return true;
}

/* The function that a call reaches, through a PLT stub too. Returns false where that can't be told. */
static bool find_target(const struct call_site *site, uintptr_t *target)
{
    if (site->call.slot != 0)
        return site->has_module && read_slot(&site->known.module, site->call.slot, target);
    *target = site->call.target;
    if (*target == 0)
        return false;
    struct sp_known_module known;
    uintptr_t lo, hi;
    if (!sp_known_get(*target, &known) || !sp_module_segment(&known.module, *target, PF_R | PF_X, &lo, &hi))
        return false;
    uintptr_t slot = sp_code_read_stub(*target, hi);
    return slot == 0 || read_slot(&known.module, slot, target);
}

static bool lies_on_stack(uintptr_t address, const struct sp_bounds *bounds)
{
    return address >= bounds->lo && address <= bounds->last + 8;
}

/*
 * Whether an address is returned to though no call is before it: the signal restorer, or glibc's __start_context, which
 * begins with `mov %rbx, %rsp`.
 */
static bool is_returned_to_by_design(uintptr_t address)
{
    struct sp_known_module known;
    uintptr_t lo, hi;
    if (!sp_known_get(address, &known) || !sp_module_segment(&known.module, address, PF_R | PF_X, &lo, &hi))
        return false;
    const uint8_t *code = (const uint8_t *)address;
    return sp_is_restorer(address, hi) || (hi - address >= 3 && code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xdc);
}

enum sp_call_site sp_call_site(uintptr_t return_address, uintptr_t function_lo, uintptr_t function_hi,
                               const struct sp_bounds *bounds)
{
    struct call_site site;
    uintptr_t target;
    if (lies_on_stack(return_address, bounds))
        return SP_SITE_NONE;
    if (!find_call(return_address, &site))
        return is_returned_to_by_design(return_address) ? SP_SITE_UNKNOWN : SP_SITE_NONE;
    if (site.call.target >= function_lo && site.call.target < function_hi) /* a PLT stub itself, too */
        return SP_SITE_FUNCTION;
    if (!find_target(&site, &target))
        return SP_SITE_UNKNOWN;
    return target >= function_lo && target < function_hi ? SP_SITE_FUNCTION : SP_SITE_OTHER;
}

bool sp_follows_call(uintptr_t address)
{
    struct call_site site;
    return find_call(address, &site);
}

bool sp_is_code(uintptr_t address)
{
    struct sp_known_module known;
    uintptr_t lo, hi;
    return sp_known_get(address, &known) && sp_module_segment(&known.module, address, PF_R | PF_X, &lo, &hi);
}

bool sp_row_is_eh_return(const struct sp_cfi_row *row)
{
    return row->rules[SP_CFI_RAX].kind == SP_CFI_OFFSET && row->rules[SP_CFI_RDX].kind == SP_CFI_OFFSET;
}

/* Whether a call before a return address is of a function that ends in __builtin_eh_return. One jumps to another. */
static bool calls_eh_return(uintptr_t return_address)
{
    struct call_site site;
    struct sp_known_module known;
    struct sp_cfi_row row;
    uintptr_t target;
    return find_call(return_address, &site) && find_target(&site, &target) && sp_known_get(target, &known) &&
           sp_cfi_find_row(&known.tables, target, &row) == SP_CFI_OK &&
           sp_cfi_find_row(&known.tables, row.function_hi - 1, &row) == SP_CFI_OK && sp_row_is_eh_return(&row);
}

enum sp_eh_state sp_eh_state(uintptr_t function_lo, uintptr_t function_hi, uintptr_t pc, uintptr_t return_address,
                             const struct sp_bounds *bounds)
{
    /* The last function but one that is called, uw_install_context_1, overwrites; the last tells a debugger. */
    if (sp_code_calls_to_landing_pad(pc, function_lo, function_hi) > 1)
        return SP_EH_INTACT;
    enum sp_call_site site = sp_call_site(return_address, function_lo, function_hi, bounds);
    bool is_replaced = site == SP_SITE_NONE || (site == SP_SITE_OTHER && !calls_eh_return(return_address));
    return is_replaced ? SP_EH_REPLACED : SP_EH_REGISTERS_LOST;
}
