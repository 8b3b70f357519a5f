/* SPDX-License-Identifier: MIT */
#include "imports/collect.h"
#include "imports/loaded.h"
#include "imports/scope.h"
#include "imports/pointer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NONE UINT32_MAX
#define OWN (UINT32_MAX - 1) /* defined by the object itself: not an import */

/* What a relocation uses its symbol for; 0: nothing that concerns imports. */
static uint32_t use_of(const Elf64_Rela *relocation)
{
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_JUMP_SLOT:
        return IMPORTS_PLT;
    case R_X86_64_GLOB_DAT:
        return IMPORTS_GOT;
    case R_X86_64_64:
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_PC64:
    case R_X86_64_32:
        return IMPORTS_ADDRESS_DATA;
    case R_X86_64_COPY:
        return IMPORTS_COPY | IMPORTS_DATA;
    case R_X86_64_DTPMOD64:
    case R_X86_64_TPOFF64:
    case R_X86_64_TLSDESC:
        return IMPORTS_TLS | IMPORTS_DATA;
    default:
        return 0;
    }
}

struct collecting {
    struct collected *collected;
    size_t user;
    uint32_t *candidate_of; /* by symbol index */
};

/* Finds out what the symbol is, by its definition's type, or by its own where nothing defines it. */
static void bind(struct collecting *collecting, struct candidate *candidate, bool copied)
{
    const struct object *view = collecting->collected->object;
    const Elf64_Sym *symbol = &view->symbols[candidate->symbol];
    const Elf64_Sym *definition =
        imports_scope_resolve(collecting->user, candidate->symbol, copied, &candidate->provider);
    unsigned type = ELF64_ST_TYPE(definition ? definition->st_info : symbol->st_info);
    if (ELF64_ST_BIND(symbol->st_info) == STB_WEAK)
        candidate->flags |= IMPORTS_WEAK;
    if (symbol->st_shndx == SHN_UNDEF && symbol->st_value)
        candidate->flags |= IMPORTS_CANONICAL;
    if (type == STT_GNU_IFUNC)
        candidate->flags |= IMPORTS_IFUNC;
    if (type == STT_TLS)
        candidate->flags |= IMPORTS_TLS | IMPORTS_DATA;
    if (type == STT_OBJECT || type == STT_COMMON)
        candidate->flags |= IMPORTS_DATA;
    /* Neither function nor variable by its type: only the calling instructions are touched, never its slot. */
    candidate->patch = type == STT_NOTYPE;
}

/* The candidate for one more use of a symbol: the one that it has, unless that has such a slot already. */
static struct candidate *candidate_for(struct collecting *collecting, uint32_t symbol, uint32_t use)
{
    struct collected *collected = collecting->collected;
    uint32_t known = collecting->candidate_of[symbol];
    if (known == OWN && !(use & IMPORTS_COPY))
        return NULL;
    if (known < OWN) {
        struct candidate *candidate = &collected->candidates[known];
        if (!(use == IMPORTS_PLT && candidate->plt_slot) && !(use == IMPORTS_GOT && candidate->got_slot))
            return candidate;
    }
    struct candidate *candidate = &collected->candidates[collected->count];
    *candidate = (struct candidate){.symbol = symbol};
    bind(collecting, candidate, (use & IMPORTS_COPY) != 0);
    if (candidate->provider == collecting->user + 1) {
        collecting->candidate_of[symbol] = OWN;
        return NULL;
    }
    collecting->candidate_of[symbol] = (uint32_t)collected->count++;
    return candidate;
}

static void add(struct collecting *collecting, const Elf64_Rela *relocation)
{
    const struct object *view = collecting->collected->object;
    uint32_t use = use_of(relocation), symbol = (uint32_t)ELF64_R_SYM(relocation->r_info);
    if (!use || !symbol)
        return;
    struct candidate *candidate = candidate_for(collecting, symbol, use);
    if (!candidate)
        return;
    uintptr_t place = view->bias + relocation->r_offset;
    if (use == IMPORTS_PLT) {
        uintptr_t value = *(uintptr_t *)place;
        candidate->flags |= IMPORTS_PLT;
        if (imports_object_holds(view, value, PF_X)) {
            candidate->flags |= IMPORTS_LAZY;
            candidate->plt_relocation = relocation;
        } else if (!value) { /* bound to nothing */
            candidate->provider = 0;
            candidate->flags |= IMPORTS_WEAK;
            return;
        } else {
            candidate->target = value;
        }
        candidate->plt_slot = place;
    } else if (use == IMPORTS_GOT) {
        candidate->got_slot = place;
        if (!(candidate->flags & (IMPORTS_DATA | IMPORTS_LAZY)))
            candidate->target = *(uintptr_t *)place;
    } else {
        candidate->flags |= use;
    }
}

/* Where the symbol was bound elsewhere than a search in load order finds, what the slot holds is right. */
static void correct_provider(struct collected *collected, struct candidate *candidate)
{
    const struct object *view = collected->object;
    uint32_t owner = candidate->target ? imports_loaded_owner(candidate->target) : 0;
    if (!owner || owner == candidate->provider || candidate->flags & IMPORTS_DATA)
        return;
    const char *name = view->strings + view->symbols[candidate->symbol].st_name;
    if (!candidate->provider ||
        imports_find_definition(&imports_loaded[owner - 1].view, name, imports_symbol_version(view, candidate->symbol)))
        candidate->provider = owner;
}

/* More calls through GLOB_DAT slots than any program has that was not written to have them. */
#define SITES_MAX (1u << 17)

static void count_site(const struct site *site, void *argument)
{
    struct collected *collected = argument;
    struct candidate *candidate = &collected->candidates[collected->got_owners[site->slot]];
    enum pointer_use use = site->kind == SITE_CALL   ? POINTER_CALLED
                           : site->kind == SITE_TEST ? POINTER_TESTED
                           : site->kind == SITE_LOAD ? imports_pointer_use(collected->object, site)
                                                     : POINTER_OUT;
    if (use == POINTER_CALLED && collected->site_count == collected->site_capacity) {
        candidate->reason = IMPORTS_REASON_FULL;
    } else if (use == POINTER_CALLED) {
        collected->sites[collected->site_count++] = *site;
        candidate->calls++;
        candidate->flags |= site->kind == SITE_LOAD ? IMPORTS_GOT | IMPORTS_POINTER_CALL : IMPORTS_GOT;
    } else if (use == POINTER_OUT) {
        candidate->patch = true;
        candidate->flags |= IMPORTS_ADDRESS_CODE;
    }
}

struct got {
    uintptr_t slot;
    uint32_t owner;
};

static int by_slot(const void *left, const void *right)
{
    uintptr_t a = ((const struct got *)left)->slot, b = ((const struct got *)right)->slot;
    return a < b ? -1 : a > b;
}

/* Uses `got`, room for as many entries as there are candidates, to sort the slots. */
static void find_uses(struct collected *collected, struct got *got)
{
    size_t count = 0;
    for (size_t i = 0; i < collected->count; i++) {
        const struct candidate *candidate = &collected->candidates[i];
        if (candidate->got_slot && candidate->target && !(candidate->flags & IMPORTS_DATA))
            got[count++] = (struct got){candidate->got_slot, (uint32_t)i};
        else if (candidate->got_slot && candidate->flags & IMPORTS_LAZY)
            got[count++] = (struct got){candidate->got_slot, (uint32_t)i};
    }
    qsort(got, count, sizeof *got, by_slot);
    for (size_t i = 0; i < count; i++) {
        collected->got_slots[i] = got[i].slot;
        collected->got_owners[i] = got[i].owner;
    }
    collected->got_count = count;
    if (count)
        imports_find_sites(collected->object, collected->got_slots, count, count_site, collected);
}

static uint32_t highest_symbol(const Elf64_Rela *relocations, size_t count, uint32_t highest)
{
    for (size_t i = 0; i < count; i++)
        if (use_of(&relocations[i]) && ELF64_R_SYM(relocations[i].r_info) > highest)
            highest = (uint32_t)ELF64_R_SYM(relocations[i].r_info);
    return highest;
}

static size_t count_slots(const struct object *view)
{
    size_t slots = view->plt_relocation_count;
    for (size_t i = 0; i < view->relocation_count; i++)
        slots += use_of(&view->relocations[i]) == IMPORTS_GOT;
    return slots;
}

bool imports_collect(size_t user, struct collected *collected)
{
    const struct object *view = &imports_loaded[user].view;
    uint32_t symbols = highest_symbol(view->relocations, view->relocation_count, 0);
    symbols = highest_symbol(view->plt_relocations, view->plt_relocation_count, symbols) + 1;
    if (symbols == 1)
        return false;
    /* A symbol is one candidate, and one more for each further slot of the same kind. */
    size_t most = symbols + count_slots(view);
    size_t per_candidate = sizeof(struct candidate) + sizeof(struct got) + sizeof(uintptr_t) + sizeof(uint32_t);
    memset(collected, 0, sizeof *collected);
    collected->object = view;
    size_t sites_size = SITES_MAX * sizeof(struct site); /* touched as far as it is needed */
    collected->memory_size = sites_size + most * per_candidate + symbols * sizeof(uint32_t);
    collected->memory = mmap(NULL, collected->memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (collected->memory == MAP_FAILED)
        return false;
    collected->sites = collected->memory;
    collected->site_capacity = SITES_MAX;
    collected->candidates = (struct candidate *)(collected->sites + SITES_MAX);
    struct got *got = (struct got *)(collected->candidates + most);
    collected->got_slots = (uintptr_t *)(got + most);
    collected->got_owners = (uint32_t *)(collected->got_slots + most);
    struct collecting collecting = {collected, user, collected->got_owners + most};
    memset(collecting.candidate_of, 0xff, symbols * sizeof(uint32_t));

    for (size_t i = 0; i < view->plt_relocation_count; i++)
        add(&collecting, &view->plt_relocations[i]);
    for (size_t i = 0; i < view->relocation_count; i++)
        add(&collecting, &view->relocations[i]);
    for (size_t i = 0; i < collected->count; i++)
        correct_provider(collected, &collected->candidates[i]);
    find_uses(collected, got);
    return true;
}

void imports_collected_free(struct collected *collected)
{
    munmap(collected->memory, collected->memory_size);
}

static size_t count_uses(const Elf64_Rela *relocations, size_t count)
{
    size_t uses = 0;
    for (size_t i = 0; i < count; i++)
        uses += use_of(&relocations[i]) != 0;
    return uses;
}

size_t imports_collect_most(const struct object *object)
{
    return count_uses(object->relocations, object->relocation_count) +
           count_uses(object->plt_relocations, object->plt_relocation_count);
}
