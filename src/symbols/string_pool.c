/* SPDX-License-Identifier: MIT */
#include "string_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a */
static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static char **slot_of(char **slots, size_t capacity, const char *text, size_t length)
{
    size_t at = hash_of(text, length) & (capacity - 1);
    while (slots[at] != NULL && (strncmp(slots[at], text, length) != 0 || slots[at][length] != '\0'))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static int grow(struct sp_string_pool *pool)
{
    size_t capacity = pool->capacity == 0 ? 256 : 2 * pool->capacity;
    char **slots = calloc(capacity, sizeof *slots);
    if (slots == NULL)
        return -1;
    for (size_t i = 0; i < pool->capacity; i++)
        if (pool->slots[i] != NULL)
            *slot_of(slots, capacity, pool->slots[i], strlen(pool->slots[i])) = pool->slots[i];
    free(pool->slots);
    pool->slots = slots;
    pool->capacity = capacity;
    return 0;
}

const char *sp_string_pool_keep(struct sp_string_pool *pool, const char *text, size_t length)
{
    if (4 * (pool->count + 1) > 3 * pool->capacity && grow(pool) != 0)
        return NULL;
    char **slot = slot_of(pool->slots, pool->capacity, text, length);
    if (*slot == NULL) {
        *slot = strndup(text, length);
        pool->count += *slot != NULL;
    }
    return *slot;
}

void sp_string_pool_free(struct sp_string_pool *pool)
{
    for (size_t i = 0; i < pool->capacity; i++)
        free(pool->slots[i]);
    free(pool->slots);
    *pool = (struct sp_string_pool){0};
}
