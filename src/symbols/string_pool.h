/* SPDX-License-Identifier: MIT */
/* Strings kept once each until the pool is freed: what a symbolizer hands out. */
#ifndef SPWALK_STRING_POOL_H
#define SPWALK_STRING_POOL_H

#include <stddef.h>

struct sp_string_pool {
    char **slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* The pool's copy of length bytes of text; NULL where memory is short. */
const char *sp_string_pool_keep(struct sp_string_pool *pool, const char *text, size_t length);

void sp_string_pool_free(struct sp_string_pool *pool);

#endif
