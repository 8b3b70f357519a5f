/* SPDX-License-Identifier: MIT */
/* own: a program that has an allocator of its own. */
#include <stddef.h>

static char memory[1 << 20] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size)
{
    size_t start = __atomic_fetch_add(&used, (size + 15) & ~(size_t)15, __ATOMIC_RELAXED);
    return start + size <= sizeof memory ? memory + start : NULL;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
    char *moved = malloc(size);
    for (size_t i = 0; block != NULL && moved != NULL && i < size; i++)
        moved[i] = ((char *)block)[i];
    return moved;
}

int main(void)
{
    return malloc(10) == NULL ? 1 : 7;
}
