/* SPDX-License-Identifier: MIT */
#include "imports/opened.h"
#include "imports/file.h"
#include "imports/loaded.h"
#include "imports/memory.h"
#include "imports/redirect.h"
#include "imports/settle.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void initialiser(int argc, char **argv, char **environment);

/* A library that is mapped, and whose first initialiser is ours for now. */
struct pending {
    size_t loaded;                 /* index + 1; 0: the entry is free */
    Elf64_Dyn *entry, *size_entry; /* DT_INIT and NULL, or DT_INIT_ARRAY and DT_INIT_ARRAYSZ */
    uintptr_t value, size;         /* what was in them */
    uintptr_t array[1];            /* in place of the init_array: ours */
};

static struct pending pending[IMPORTS_PENDING_MAX];

static Elf64_Dyn *find(const struct object *view, Elf64_Sxword tag)
{
    for (Elf64_Dyn *entry = view->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry;
    return NULL;
}

static void prepare(size_t index)
{
    const struct object *view = &imports_loaded[index].view;
    size_t number = 0;
    while (number < IMPORTS_PENDING_MAX && pending[number].loaded)
        number++;
    Elf64_Dyn *init = find(view, DT_INIT), *array = find(view, DT_INIT_ARRAY), *size = find(view, DT_INIT_ARRAYSZ);
    bool writable = imports_object_holds(view, (uintptr_t)view->dynamic, PF_W);
    if (number == IMPORTS_PENDING_MAX || !writable || (!init && (!array || !size || !size->d_un.d_val))) {
        imports_redirect_none(index, IMPORTS_REASON_UNREADY);
        return;
    }
    struct pending *entry = &pending[number];
    uintptr_t ours = (uintptr_t)imports_initialisers + number * 16;
    entry->loaded = index + 1;
    entry->array[0] = ours;
    entry->entry = init ? init : array;
    entry->size_entry = init ? NULL : size;
    entry->value = entry->entry->d_un.d_ptr;
    entry->entry->d_un.d_ptr = (init ? ours : (uintptr_t)entry->array) - view->bias;
    if (!init) {
        entry->size = size->d_un.d_val;
        size->d_un.d_val = sizeof(uintptr_t);
    }
}

/* Libraries whose relocation failed are gone without having been initialised. */
static void forget_closed(void)
{
    for (size_t i = 0; i < IMPORTS_PENDING_MAX; i++)
        if (pending[i].loaded && imports_loaded[pending[i].loaded - 1].closed)
            pending[i].loaded = 0;
}

static void update(void)
{
    imports_loaded_update(true);
    forget_closed();
    for (size_t i = 0; i < imports_loaded_count; i++) {
        struct loaded *entry = &imports_loaded[i];
        if (entry->closed || entry->redirected || entry->prepared)
            continue;
        entry->prepared = true;
        if (entry->selected)
            prepare(i);
    }
}

void imports_list_changed(void)
{
    int saved = errno;
    if (!imports_settle_begin())
        return; /* another thread is ending the process */
    if (_r_debug.r_state == RT_CONSISTENT)
        update();
    else /* a library may be about to go */
        imports_settle();
    imports_settle_end();
    errno = saved;
}

static void restore(struct pending *entry)
{
    const struct object *view = &imports_loaded[entry->loaded - 1].view;
    imports_open_slots(view);
    entry->entry->d_un.d_ptr = entry->value;
    if (entry->size_entry)
        entry->size_entry->d_un.d_val = entry->size;
    imports_close_slots(view);
}

void imports_initialise(int argc, char **argv, char **environment, unsigned number)
{
    int saved = errno;
    struct pending own = pending[number];
    uintptr_t bias = imports_loaded[own.loaded - 1].view.bias;
    /* All that are opened together are relocated by now, and any of them may be called by the first to run. */
    for (size_t i = 0; i < IMPORTS_PENDING_MAX; i++) {
        if (!pending[i].loaded)
            continue;
        restore(&pending[i]);
        imports_loaded_constructors(pending[i].loaded - 1);
        imports_redirect(pending[i].loaded - 1);
        pending[i].loaded = 0;
    }
    errno = saved;
    if (!own.size_entry) {
        ((initialiser *)(bias + own.value))(argc, argv, environment);
        return;
    }
    initialiser **array = (initialiser **)(bias + own.value);
    for (size_t i = 0; i < own.size / sizeof *array; i++)
        array[i](argc, argv, environment);
}

int imports_watch_opened(void)
{
    static const unsigned char returns[] = {0xc3}, marked_returns[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};
    unsigned char *function = (unsigned char *)_r_debug.r_brk;
    uint32_t linker = imports_loaded_owner((uintptr_t)function);
    if (!linker)
        return 0;
    size_t mark = memcmp(function, marked_returns, sizeof marked_returns) == 0 ? 4 : 0;
    /* The return is followed by padding up to the next 16 bytes: room for a jump with a 32-bit displacement. */
    unsigned char *at = function + mark;
    bool room = ((uintptr_t)at & 15) <= 11 && (mark || memcmp(at, returns, sizeof returns) == 0);
    int64_t distance = (int64_t)((uintptr_t)imports_list_changed - ((uintptr_t)at + 5));
    if (!room || distance != (int32_t)distance)
        return 0;
    return imports_write_jump(&imports_loaded[linker - 1].view, at, (int32_t)distance);
}
