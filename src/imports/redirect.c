/* SPDX-License-Identifier: MIT */
#include "imports/redirect.h"
#include "imports/collect.h"
#include "imports/counter.h"
#include "imports/file.h"
#include "imports/loaded.h"
#include "imports/memory.h"
#include "imports/sites.h"
#include "imports/stub.h"

#include <string.h>

static bool audited;

void imports_redirect_audited(void)
{
    audited = true;
}

/* The call by which the program enters main: it tells when that is, whether it is to be counted or not. */
static bool enters_main(const struct object *view, size_t user, const struct candidate *candidate)
{
    return imports_objects[user].flags & IMPORTS_OBJECT_MAIN &&
           strcmp(view->strings + view->symbols[candidate->symbol].st_name, "__libc_start_main") == 0;
}

/* Chooses the imports that get a stub, and says of the others why not. */
static void choose(struct collected *collected, size_t user)
{
    const struct object *view = &imports_loaded[user].view;
    bool can_bind = !audited && view->plt_got && view->plt_got[2];
    for (size_t i = 0; i < collected->count; i++) {
        struct candidate *candidate = &collected->candidates[i];
        bool lazy = candidate->flags & IMPORTS_LAZY, can_stub = candidate->plt_slot || candidate->calls;
        if (!imports_loaded[user].selected ||
            (candidate->provider && !imports_loaded_wanted(candidate->provider - 1))) {
            candidate->reason = IMPORTS_REASON_FILTERED;
            candidate->stub = can_stub && (!lazy || can_bind) && enters_main(view, user, candidate);
        }
        if (candidate->reason || candidate->flags & IMPORTS_DATA)
            continue;
        if (!candidate->provider && candidate->flags & IMPORTS_WEAK && !lazy)
            candidate->reason = IMPORTS_REASON_UNDEFINED;
        else if (lazy && !can_bind)
            candidate->reason = IMPORTS_REASON_AUDITED;
        else if (can_stub)
            candidate->stub = true;
        else if (candidate->flags & (IMPORTS_ADDRESS_CODE | IMPORTS_ADDRESS_DATA))
            candidate->reason = IMPORTS_REASON_POINTER;
        else
            candidate->reason = IMPORTS_REASON_NO_CODE;
    }
}

static void fail_all(struct collected *collected, uint32_t reason)
{
    for (size_t i = 0; i < collected->count; i++) {
        if (!collected->candidates[i].stub)
            continue;
        collected->candidates[i].stub = false;
        collected->candidates[i].reason = reason;
    }
}

static bool create_stubs(struct collected *collected, struct loaded *entry)
{
    size_t lazy = 0;
    for (size_t i = 0; i < collected->count; i++)
        lazy += collected->candidates[i].stub && collected->candidates[i].flags & IMPORTS_LAZY;
    entry->stubs = imports_stubs_create(&entry->view, collected->count, lazy);
    if (!entry->stubs)
        return false;
    for (size_t i = 0; i < collected->count; i++) {
        const struct candidate *candidate = &collected->candidates[i];
        uint32_t import = entry->first_import + (uint32_t)i;
        if (!candidate->stub)
            continue;
        if (candidate->flags & IMPORTS_LAZY)
            imports_stub_write_lazy(entry->stubs, &entry->view, i, import, candidate->plt_relocation);
        else
            imports_stub_write(entry->stubs, i, import, candidate->target);
    }
    return true;
}

/* Makes the instruction use the slot of our own that holds the stub's address. */
static void patch_site(struct loaded *entry, const struct site *site, size_t index, struct candidate *candidate)
{
    uintptr_t *slot = imports_stub_near_slot(entry->stubs, &entry->view, index);
    int64_t displacement = slot ? (int64_t)((uintptr_t)slot - ((uintptr_t)site->operand + 4)) : INT64_MAX;
    if (displacement != (int32_t)displacement)
        candidate->reason = IMPORTS_REASON_MEMORY;
    else if (!imports_write_code(&entry->view, site->operand, (int32_t)displacement))
        candidate->reason = IMPORTS_REASON_PROTECTED;
}

static void patch_code(struct collected *collected, struct loaded *entry)
{
    for (size_t i = 0; i < collected->site_count; i++) {
        size_t index = collected->got_owners[collected->sites[i].slot];
        struct candidate *candidate = &collected->candidates[index];
        if (candidate->stub && candidate->patch)
            patch_site(entry, &collected->sites[i], index, candidate);
    }
}

static void write_slots(struct collected *collected, struct loaded *entry)
{
    const struct object *view = &entry->view;
    if (!imports_open_slots(view)) {
        fail_all(collected, IMPORTS_REASON_PROTECTED);
        return;
    }
    for (size_t i = 0; i < collected->count; i++) {
        struct candidate *candidate = &collected->candidates[i];
        if (!candidate->stub)
            continue;
        uintptr_t stub = imports_stub_address(entry->stubs, i);
        bool written = !candidate->plt_slot || imports_write_slot(view, candidate->plt_slot, stub);
        if (candidate->calls && !candidate->patch)
            written &= imports_write_slot(view, candidate->got_slot, stub);
        if (!written)
            candidate->reason = IMPORTS_REASON_PROTECTED;
    }
    imports_close_slots(view);
}

static void record_import(uint32_t number, const struct candidate *candidate, const struct object *view, size_t user)
{
    struct imports_import *import = &imports_imports[number];
    /* A library that is opened again: what it was bound to is known better than by a search. */
    bool is_known = import->ready && import->flags & IMPORTS_SETTLED && candidate->flags & IMPORTS_LAZY;
    if (!import->ready) {
        const char *version = imports_symbol_version(view, candidate->symbol);
        import->object = (uint32_t)user;
        import->name = imports_file_string(view->strings + view->symbols[candidate->symbol].st_name);
        import->version = version ? imports_file_string(version) : 0;
    }
    if (!is_known)
        import->provider = candidate->provider;
    import->flags = candidate->flags;
    import->reason = candidate->reason;
    import->slot = candidate->plt_slot ? candidate->plt_slot : candidate->got_slot;
    import->ready = 1;
}

/* The entries that the same library had when it was loaded before, or new ones. */
static bool claim_imports(const struct collected *collected, struct loaded *entry, size_t user)
{
    if (entry->import_count == collected->count && entry->import_count &&
        imports_imports[entry->first_import].object == user)
        return true;
    entry->first_import = imports_file_claim((uint32_t)collected->count);
    entry->import_count = entry->first_import == UINT32_MAX ? 0 : (uint32_t)collected->count;
    return entry->import_count != 0;
}

void imports_redirect_none(size_t user, uint32_t reason)
{
    uint32_t number = imports_file_claim(1);
    if (number == UINT32_MAX) {
        imports_report->lost++;
        return;
    }
    imports_imports[number].object = (uint32_t)user;
    imports_imports[number].reason = reason;
    imports_imports[number].ready = 1;
}

void imports_redirect(size_t user)
{
    struct loaded *entry = &imports_loaded[user];
    struct collected collected;
    if (entry->redirected)
        return;
    entry->redirected = true;
    if (!imports_collect(user, &collected))
        return;
    if (!collected.count || !claim_imports(&collected, entry, user)) {
        if (collected.count)
            imports_redirect_none(user, IMPORTS_REASON_FULL);
        imports_collected_free(&collected);
        return;
    }
    choose(&collected, user);
    if (!create_stubs(&collected, entry) || !imports_stubs_finish(entry->stubs)) {
        fail_all(&collected, IMPORTS_REASON_MEMORY);
    } else {
        patch_code(&collected, entry);
        imports_stubs_seal(entry->stubs);
        write_slots(&collected, entry);
    }
    for (size_t i = 0; i < collected.count; i++) {
        struct candidate *candidate = &collected.candidates[i];
        if (candidate->stub && !candidate->reason)
            candidate->flags |= IMPORTS_COUNTED;
        record_import(entry->first_import + (uint32_t)i, candidate, &entry->view, user);
    }
    imports_collected_free(&collected);
}
