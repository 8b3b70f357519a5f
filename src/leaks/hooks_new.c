/* SPDX-License-Identifier: MIT */
/*
 * C++'s operator new and delete, in all forms, by their mangled names (Itanium C++ ABI, 5.1): _Zn is new, _Zd delete,
 * w and l one object, a an array; m a size_t, Pv a pointer, St11align_val_t an alignment, RKSt9nothrow_t std::nothrow.
 *
 * Where there is no memory the next definition, libstdc++'s, is called, which knows the new-handler and std::bad_alloc;
 * it comes back to malloc, whose block then becomes one of new. These functions let its exceptions through.
 */
#include "leaks/block.h"
#include "leaks/hooks.h"

#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default"), noinline))

/* struct std::nothrow_t is empty: only its address is passed. */
typedef void *plain_new(size_t);
typedef void *aligned_new(size_t, size_t);
typedef void *nothrow_new(size_t, const void *);
typedef void *aligned_nothrow_new(size_t, size_t, const void *);

/* Makes a block of malloc one of new. */
static void *become(void *block, enum leaks_kind kind)
{
    uint32_t *slot = leaks_slot_find((uintptr_t)block);
    if (block == NULL || slot == NULL)
        return block;
    if (*slot < LEAKS_SLOT_RECORDS) {
        *slot = LEAKS_SLOT_UNTRACKED + kind;
    } else {
        struct leaks_record *record = leaks_record_get(*slot);
        record->kind = (record->kind & LEAKS_GUARDED) | (kind & 7);
    }
    return block;
}

#define NEW(name, type, kind, parameters, arguments, allocation)                                                       \
    EXPORT void *name parameters                                                                                       \
    {                                                                                                                  \
        void *block = allocation;                                                                                      \
        if (__builtin_expect(block != NULL, 1))                                                                        \
            return block;                                                                                              \
        type *next = (type *)dlsym(RTLD_NEXT, #name);                                                                  \
        return next == NULL ? NULL : become(next arguments, kind);                                                     \
    }

#define NEW_FORMS(letter, kind)                                                                                        \
    NEW(_Zn##letter##m, plain_new, kind, (size_t size), (size), leaks_allocate(size, kind))                            \
    NEW(_Zn##letter##mRKSt9nothrow_t, nothrow_new, kind, (size_t size, const void *nothrow), (size, nothrow),          \
        leaks_allocate(size, kind))                                                                                    \
    NEW(_Zn##letter##mSt11align_val_t, aligned_new, kind, (size_t size, size_t alignment), (size, alignment),          \
        leaks_allocate_aligned(alignment, size, kind))                                                                 \
    NEW(_Zn##letter##mSt11align_val_tRKSt9nothrow_t, aligned_nothrow_new, kind,                                        \
        (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow),                              \
        leaks_allocate_aligned(alignment, size, kind))

#define DELETE(name, kind, ...)                                                                                        \
    EXPORT void name(void *block, ##__VA_ARGS__)                                                                       \
    {                                                                                                                  \
        leaks_release(block, kind);                                                                                    \
    }

#define DELETE_FORMS(letter, kind)                                                                                     \
    DELETE(_Zd##letter##Pv, kind)                                                                                      \
    DELETE(_Zd##letter##Pvm, kind, size_t size __attribute__((unused)))                                                \
    DELETE(_Zd##letter##PvRKSt9nothrow_t, kind, const void *nothrow __attribute__((unused)))                           \
    DELETE(_Zd##letter##PvSt11align_val_t, kind, size_t alignment __attribute__((unused)))                             \
    DELETE(_Zd##letter##PvmSt11align_val_t, kind, size_t size __attribute__((unused)),                                 \
           size_t alignment __attribute__((unused)))                                                                   \
    DELETE(_Zd##letter##PvSt11align_val_tRKSt9nothrow_t, kind, size_t alignment __attribute__((unused)),               \
           const void *nothrow __attribute__((unused)))

NEW_FORMS(w, LEAKS_NEW)
NEW_FORMS(a, LEAKS_NEW_ARRAY)
DELETE_FORMS(l, LEAKS_NEW)
DELETE_FORMS(a, LEAKS_NEW_ARRAY)
