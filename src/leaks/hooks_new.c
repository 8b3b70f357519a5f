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

/* Called by the stubs of enter.S. struct std::nothrow_t is empty: only its address is passed. */
#define HOOK __attribute__((visibility("hidden")))

typedef void *plain_new(size_t);
typedef void *aligned_new(size_t, size_t);
typedef void *nothrow_new(size_t, const void *);
typedef void *aligned_nothrow_new(size_t, size_t, const void *);

static void *become(void *block, enum leaks_kind kind)
{
    leaks_block_become(block, kind);
    return block;
}

#define NEW(name, target, type, kind, parameters, arguments, allocation)                                               \
    HOOK void *target parameters                                                                                       \
    {                                                                                                                  \
        void *block = allocation;                                                                                      \
        if (__builtin_expect(block != NULL, 1))                                                                        \
            return block;                                                                                              \
        type *next = (type *)dlsym(RTLD_NEXT, #name);                                                                  \
        return next == NULL ? NULL : become(next arguments, kind);                                                     \
    }

#define CALLER const struct sp_own_registers *caller

#define NEW_FORMS(letter, target, kind)                                                                                \
    NEW(_Zn##letter##m, target, plain_new, kind, (size_t size, CALLER), (size), leaks_allocate(size, kind, caller))    \
    NEW(_Zn##letter##mRKSt9nothrow_t, target##_nothrow, nothrow_new, kind, (size_t size, const void *nothrow, CALLER), \
        (size, nothrow), leaks_allocate(size, kind, caller))                                                           \
    NEW(_Zn##letter##mSt11align_val_t, target##_aligned, aligned_new, kind, (size_t size, size_t alignment, CALLER),   \
        (size, alignment), leaks_allocate_aligned(alignment, size, kind, caller))                                      \
    NEW(_Zn##letter##mSt11align_val_tRKSt9nothrow_t, target##_aligned_nothrow, aligned_nothrow_new, kind,              \
        (size_t size, size_t alignment, const void *nothrow, CALLER), (size, alignment, nothrow),                      \
        leaks_allocate_aligned(alignment, size, kind, caller))

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

NEW_FORMS(w, leaks_new, LEAKS_NEW)
NEW_FORMS(a, leaks_new_array, LEAKS_NEW_ARRAY)
DELETE_FORMS(l, LEAKS_NEW)
DELETE_FORMS(a, LEAKS_NEW_ARRAY)
