/* SPDX-License-Identifier: MIT */
/* Addresses as text, in the form of backtrace_symbols(3). */
#include <spwalk_symbols.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line_buffer.h"
#include "mapped_place.h"

/* Whether an address of a trace is exact: a signal frame's, or that of the function which the signal interrupted. */
static int is_interrupted(void *const *pcs, int index)
{
    return sp_is_signal_return((uintptr_t)pcs[index]) || (index > 0 && sp_is_signal_return((uintptr_t)pcs[index - 1]));
}

static int name_of(struct sp_symbolizer *symbolizer, uintptr_t pc, int interrupted, char **text)
{
    struct sp_symbol symbol;
    if (sp_symbolize(symbolizer, NULL, pc, interrupted, &symbol) < 0)
        return -1;
    if (symbol.module == NULL)
        return asprintf(text, "[0x%" PRIxPTR "]", pc);
    if (symbol.function == NULL)
        return asprintf(text, "%s(+0x%" PRIx64 ") [0x%" PRIxPTR "]", symbol.module, symbol.module_offset, pc);
    return asprintf(text, "%s(%s+0x%" PRIx64 ") [0x%" PRIxPTR "]", symbol.module, symbol.function,
                    symbol.function_offset, pc);
}

/* One block: the pointers, then the strings. */
static char **join(char *const *texts, size_t count)
{
    size_t size = count * sizeof(char *);
    for (size_t i = 0; i < count; i++)
        size += strlen(texts[i]) + 1;
    char **block = malloc(size > 0 ? size : 1);
    if (block == NULL)
        return NULL;
    char *at = (char *)(block + count);
    for (size_t i = 0; i < count; i++) {
        block[i] = at;
        at = stpcpy(at, texts[i]) + 1;
    }
    return block;
}

char **sp_backtrace_symbols(void *const *pcs, int size)
{
    if (size < 0 || (pcs == NULL && size > 0)) {
        errno = EINVAL;
        return NULL;
    }
    size_t count = (size_t)size, named = 0;
    char **texts = calloc(count + 1, sizeof *texts), **block = NULL;
    struct sp_symbolizer *symbolizer = sp_symbolizer_new(0, NULL);
    if (texts != NULL && symbolizer != NULL) {
        while (named < count &&
               name_of(symbolizer, (uintptr_t)pcs[named], is_interrupted(pcs, (int)named), &texts[named]) >= 0)
            named++;
        if (named == count)
            block = join(texts, count);
    }
    sp_symbolizer_free(symbolizer);
    for (size_t i = 0; i < named; i++)
        free(texts[i]);
    free(texts);
    return block;
}

static bool write_address(uintptr_t pc, int interrupted, int fd)
{
    struct sp_line_buffer line = {.length = 0};
    struct sp_mapped_place place;
    if (sp_mapped_place_find(pc, interrupted || pc == 0 ? 0 : 1, &place)) {
        sp_line_put(&line, place.module);
        sp_line_put(&line, "(");
        sp_line_put(&line, place.function);
        sp_line_put(&line, "+0x");
        sp_line_put_number(&line, place.function[0] == '\0' ? place.module_offset : place.function_offset, 16, 1);
        sp_line_put(&line, ") ");
    }
    sp_line_put(&line, "[0x");
    sp_line_put_number(&line, pc, 16, 1);
    sp_line_put(&line, "]");
    return sp_line_write(&line, fd);
}

void sp_backtrace_symbols_fd(void *const *pcs, int size, int fd)
{
    int error = errno;
    bool written = pcs != NULL;
    for (int i = 0; written && i < size; i++)
        written = write_address((uintptr_t)pcs[i], is_interrupted(pcs, i), fd);
    errno = error;
}
