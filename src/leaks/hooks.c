/* SPDX-License-Identifier: MIT */
/*
 * malloc(3) and its kin, in front of glibc's. The dynamic linker calls them before any constructor has run, so they
 * need nothing but what is zero or constant at the start, and reach glibc's own by the names it exports for that.
 */
#include "leaks/block.h"
#include "leaks/hooks.h"
#include "leaks/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), noinline))
/* Called by the stubs of enter.S. */
#define HOOK __attribute__((visibility("hidden")))

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static inline __attribute__((always_inline)) void *allocate(size_t size, enum leaks_kind kind,
                                                            const struct sp_own_registers *caller)
{
    bool is_wanted = leaks_wants(size);
    void *block = __libc_malloc(is_wanted ? leaks_padded(size) : size);
    leaks_block_add(block, size, kind, is_wanted, caller);
    return block;
}

void *leaks_allocate(size_t size, enum leaks_kind kind, const struct sp_own_registers *caller)
{
    return allocate(size, kind, caller);
}

void *leaks_allocate_aligned(size_t alignment, size_t size, enum leaks_kind kind, const struct sp_own_registers *caller)
{
    bool is_wanted = leaks_wants(size);
    void *block = __libc_memalign(alignment, is_wanted ? leaks_padded(size) : size);
    leaks_block_add(block, size, kind, is_wanted, caller);
    return block;
}

void leaks_release(void *block, enum leaks_kind kind)
{
    if (leaks_block_remove(block, kind))
        __libc_free(block);
}

static bool multiply(size_t count, size_t size, size_t *product)
{
    if (!__builtin_mul_overflow(count, size, product))
        return true;
    errno = ENOMEM;
    return false;
}

HOOK void *leaks_malloc(size_t size, const struct sp_own_registers *caller)
{
    return allocate(size, LEAKS_MALLOC, caller);
}

HOOK void *leaks_calloc(size_t count, size_t size, const struct sp_own_registers *caller)
{
    size_t all;
    if (!multiply(count, size, &all))
        return NULL;
    bool is_wanted = leaks_wants(all);
    void *block = __libc_calloc(is_wanted ? leaks_padded(all) : all, 1);
    leaks_block_add(block, all, LEAKS_MALLOC, is_wanted, caller);
    return block;
}

EXPORT void free(void *block)
{
    if (leaks_block_remove(block, LEAKS_MALLOC))
        __libc_free(block);
}

extern __typeof(free) own_free __attribute__((alias("free"), visibility("hidden"), nothrow, leaf));

void *leaks_find_free(void)
{
    return (void *)own_free;
}

HOOK void *leaks_realloc(void *block, size_t size, const struct sp_own_registers *caller)
{
    uint16_t slot;
    if (block == NULL)
        return allocate(size, LEAKS_MALLOC, caller);
    if (size == 0) {
        /* glibc's realloc frees. */
        leaks_release(block, LEAKS_MALLOC);
        return NULL;
    }
    leaks_own_thread.is_moving++;
    if (!leaks_block_take_out(block, &slot)) {
        leaks_own_thread.is_moving--;
        errno = ENOMEM;
        return NULL;
    }
    bool is_wanted = leaks_wants(size);
    void *moved = __libc_realloc(block, is_wanted ? leaks_padded(size) : size);
    if (moved == NULL)
        leaks_block_put_back(block, slot);
    else
        leaks_block_add(moved, size, LEAKS_MALLOC, is_wanted, caller);
    leaks_own_thread.is_moving--;
    return moved;
}

HOOK void *leaks_reallocarray(void *block, size_t count, size_t size, const struct sp_own_registers *caller)
{
    size_t all;
    return multiply(count, size, &all) ? leaks_realloc(block, all, caller) : NULL;
}

HOOK void *leaks_memalign(size_t alignment, size_t size, const struct sp_own_registers *caller)
{
    return leaks_allocate_aligned(alignment, size, LEAKS_MALLOC, caller);
}

HOOK int leaks_posix_memalign(void **result, size_t alignment, size_t size, const struct sp_own_registers *caller)
{
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    int saved = errno;
    void *block = leaks_allocate_aligned(alignment, size, LEAKS_MALLOC, caller);
    errno = saved;
    if (block == NULL)
        return ENOMEM;
    *result = block;
    return 0;
}

static size_t page_size(void)
{
    return (size_t)getpagesize();
}

HOOK void *leaks_valloc(size_t size, const struct sp_own_registers *caller)
{
    return leaks_allocate_aligned(page_size(), size, LEAKS_MALLOC, caller);
}

HOOK void *leaks_pvalloc(size_t size, const struct sp_own_registers *caller)
{
    size_t page = page_size(), rounded = (size + page - 1) & ~(page - 1);
    if (rounded < size) {
        errno = ENOMEM;
        return NULL;
    }
    return leaks_allocate_aligned(page, rounded, LEAKS_MALLOC, caller);
}

EXPORT void cfree(void *block)
{
    free(block);
}

/* Of a block with a record the room past the size that was asked for is not the program's. */
EXPORT size_t malloc_usable_size(void *block)
{
    static size_t (*real)(void *);
    size_t size = block == NULL ? 0 : leaks_block_size(block);
    if (size != SIZE_MAX)
        return size;
    if (real == NULL)
        real = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    return real == NULL ? 0 : real(block);
}
