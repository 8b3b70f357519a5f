/* SPDX-License-Identifier: MIT */
#include "imports/settle.h"
#include "imports/file.h"
#include "imports/loaded.h"
#include "imports/stub.h"

#include <string.h>

static atomic_flag is_busy = ATOMIC_FLAG_INIT;

bool imports_settle_begin(void)
{
    return !atomic_flag_test_and_set(&is_busy);
}

void imports_settle_end(void)
{
    atomic_flag_clear(&is_busy);
}

/* The first call into `from` was this import's, which is in `to`. */
static void move_first_call(uint32_t from, uint32_t to, uint32_t number)
{
    struct imports_object *old = &imports_objects[from - 1], *new = &imports_objects[to - 1];
    uint32_t uncalled = 0;
    if (old->called != 2 || old->first_import != number || !atomic_compare_exchange_strong(&new->called, &uncalled, 1))
        return;
    new->first_import = number;
    new->first_time = old->first_time;
    new->first_process = old->first_process;
    new->first_depth = old->first_depth;
    new->first_is_cut = old->first_is_cut;
    memcpy(new->first_stack, old->first_stack, sizeof new->first_stack);
    new->called = 2;
    old->called = 0;
}

static void settle(const struct loaded *entry, size_t index)
{
    const struct imports_stubs *stubs = entry->stubs;
    uint32_t number = entry->first_import + (uint32_t)index;
    struct imports_import *import = &imports_imports[number];
    uintptr_t target = __atomic_load_n(&stubs->targets[index], __ATOMIC_RELAXED);
    if (!(import->flags & IMPORTS_LAZY) || import->flags & IMPORTS_SETTLED || !(import->flags & IMPORTS_COUNTED) ||
        target - (uintptr_t)stubs->code < stubs->code_size)
        return;
    import->flags |= IMPORTS_SETTLED;
    uint32_t owner = imports_loaded_owner(target), before = import->provider;
    const char *version = imports_file_text(import->version);
    if (!owner || owner == before ||
        !imports_find_definition(&imports_loaded[owner - 1].view, imports_file_text(import->name),
                                 *version ? version : NULL))
        return;
    import->provider = owner;
    if (before)
        move_first_call(before, owner, number);
}

void imports_settle(void)
{
    for (size_t i = 0; i < imports_loaded_count; i++) {
        const struct loaded *entry = &imports_loaded[i];
        for (uint32_t j = 0; entry->stubs && !entry->closed && j < entry->import_count; j++)
            settle(entry, j);
    }
}

__attribute__((destructor)) static void settle_at_end(void)
{
    if (!imports_report || !imports_settle_begin())
        return;
    imports_settle();
    imports_settle_end();
}
