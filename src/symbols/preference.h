/* SPDX-License-Identifier: MIT */
/*
 * Which of the symbols at one address names it. The first of these that tells them apart decides:
 *
 *     1. a function (STT_FUNC, STT_GNU_IFUNC) before a symbol without a type
 *     2. one with a size before one without
 *     3. the one with fewer leading underscores
 *     4. global before weak before local
 *     5. the shorter name
 *     6. the name that comes first by its bytes
 *
 * The same everywhere, so that a name does not depend on where it was looked up. Async-signal-safe.
 */
#ifndef SPWALK_PREFERENCE_H
#define SPWALK_PREFERENCE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sp_candidate {
    uint64_t start;
    uint64_t size;
    const char *name;
    uint32_t name_length; /* without a symbol version (name@VERSION) */
    uint8_t type;         /* STT_* */
    uint8_t binding;      /* STB_* */
};

static inline uint32_t sp_name_length(const char *name)
{
    /* A name may begin with '@'; a version may not be all of it. */
    const char *version = name[0] == '\0' ? NULL : strchr(name + 1, '@');
    return (uint32_t)(version != NULL ? (size_t)(version - name) : strlen(name));
}

static inline uint32_t sp_leading_underscores(const struct sp_candidate *symbol)
{
    uint32_t count = 0;
    while (count < symbol->name_length && symbol->name[count] == '_')
        count++;
    return count;
}

static inline int sp_binding_order(const struct sp_candidate *symbol)
{
    return symbol->binding == STB_LOCAL ? 2 : symbol->binding == STB_WEAK ? 1 : 0;
}

/* Below 0 where a is preferred, above 0 where b is. Only equal symbols give 0. */
static inline int sp_prefer(const struct sp_candidate *a, const struct sp_candidate *b)
{
    int difference = (a->type == STT_NOTYPE) - (b->type == STT_NOTYPE);
    if (difference == 0)
        difference = (a->size == 0) - (b->size == 0);
    if (difference == 0)
        difference = (int)sp_leading_underscores(a) - (int)sp_leading_underscores(b);
    if (difference == 0)
        difference = sp_binding_order(a) - sp_binding_order(b);
    if (difference == 0 && a->name_length != b->name_length)
        difference = a->name_length < b->name_length ? -1 : 1;
    if (difference == 0)
        difference = memcmp(a->name, b->name, a->name_length);
    return difference;
}

#endif
