/* SPDX-License-Identifier: MIT */
#include "leaks/error.h"

#include <stdbool.h>
#include <string.h>

static struct {
    uint32_t is_complete;
    struct leaks_error error;
} errors[LEAKS_ERRORS_MAX];
static uint32_t count;

static bool is_same(const struct leaks_error *a, const struct leaks_error *b)
{
    return a->type == b->type && a->here == b->here && a->allocated == b->allocated && a->freed == b->freed &&
           a->allocated_as == b->allocated_as && a->freed_as == b->freed_as &&
           (a->type != LEAKS_INVALID_FREE || a->here != 0 || a->address == b->address);
}

void leaks_error_add(const struct leaks_error *error)
{
    uint32_t used = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used && i < LEAKS_ERRORS_MAX; i++)
        if (__atomic_load_n(&errors[i].is_complete, __ATOMIC_ACQUIRE) && is_same(&errors[i].error, error)) {
            __atomic_fetch_add(&errors[i].error.count, 1, __ATOMIC_RELAXED);
            return;
        }
    uint32_t index = __atomic_fetch_add(&count, 1, __ATOMIC_ACQ_REL);
    if (index >= LEAKS_ERRORS_MAX) {
        __atomic_store_n(&count, LEAKS_ERRORS_MAX, __ATOMIC_RELAXED);
        return;
    }
    errors[index].error = *error;
    errors[index].error.count = 1;
    __atomic_store_n(&errors[index].is_complete, 1, __ATOMIC_RELEASE);
}

const struct leaks_error *leaks_error_get(size_t index)
{
    static const struct leaks_error none;
    if (index >= __atomic_load_n(&count, __ATOMIC_ACQUIRE) || index >= LEAKS_ERRORS_MAX)
        return NULL;
    return __atomic_load_n(&errors[index].is_complete, __ATOMIC_ACQUIRE) ? &errors[index].error : &none;
}

void leaks_error_forget(void)
{
    memset(errors, 0, sizeof *errors * (count < LEAKS_ERRORS_MAX ? count : LEAKS_ERRORS_MAX));
    count = 0;
}
