/* SPDX-License-Identifier: MIT */
#include "leaks_data.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* The whole file in memory; NULL where it cannot be read. */
static char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    char *bytes = NULL;
    long length;
    if (file == NULL)
        return NULL;
    errno = 0; /* what follows may fail without setting it */
    if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        bytes = malloc((size_t)length + 1);
        *size = (size_t)length;
        if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    int error = errno;
    fclose(file);
    errno = error;
    return bytes;
}

/* Room for one more; they double in size. */
static void *grow(void *items, size_t count, size_t size)
{
    if (count != 0 && (count < 16 || (count & (count - 1)) != 0))
        return items;
    void *more = realloc(items, (count < 16 ? 16 : 2 * count) * size);
    if (more == NULL)
        free(items);
    return more;
}

#define APPEND(items, count) ((items) = grow((items), (count), sizeof *(items)), (items) != NULL)

static bool add_module(struct leaks_data *data, const char *payload, size_t size)
{
    struct leaks_module module;
    if (size < sizeof module || !APPEND(data->modules, data->module_count))
        return false;
    memcpy(&module, payload, sizeof module);
    if (module.path_size != size - sizeof module || module.build_id_size > sizeof module.build_id ||
        module.end < module.start)
        return false;
    char *path = strndup(payload + sizeof module, module.path_size);
    data->modules[data->module_count++] = (struct leaks_module_item){module, path};
    return path != NULL;
}

static bool add_stack(struct leaks_data *data, const char *payload, size_t size)
{
    struct leaks_stack stack;
    if (size < sizeof stack || !APPEND(data->stacks, data->stack_count))
        return false;
    memcpy(&stack, payload, sizeof stack);
    if (size != sizeof stack + stack.depth * sizeof(uint64_t))
        return false;
    data->stacks[data->stack_count++] =
        (struct leaks_stack_item){stack, (const uint64_t *)(const void *)(payload + sizeof stack)};
    return true;
}

static bool add_block(struct leaks_data *data, const char *payload, size_t size)
{
    struct leaks_block block;
    if (size < sizeof block || !APPEND(data->blocks, data->block_count))
        return false;
    memcpy(&block, payload, sizeof block);
    if (size != sizeof block + block.dump_size || block.kind > LEAKS_NEW_ARRAY || block.class > LEAKS_REACHABLE)
        return false;
    data->blocks[data->block_count++] = (struct leaks_block_item){block, (const unsigned char *)payload + sizeof block};
    return true;
}

static bool add_error(struct leaks_data *data, const char *payload, size_t size)
{
    if (size != sizeof *data->errors || !APPEND(data->errors, data->error_count))
        return false;
    struct leaks_error *error = &data->errors[data->error_count++];
    memcpy(error, payload, size);
    return error->type > 0 && error->type < LEAKS_ERROR_TYPES && error->allocated_as <= LEAKS_NEW_ARRAY &&
           error->freed_as <= LEAKS_NEW_ARRAY;
}

static int by_number(const void *left, const void *right)
{
    const struct leaks_stack_item *a = left, *b = right;
    return a->stack.number < b->stack.number ? -1 : a->stack.number > b->stack.number;
}

static bool parse(struct leaks_data *data, size_t size)
{
    struct leaks_item item;
    for (size_t at = 0; size - at >= sizeof item;) {
        memcpy(&item, data->bytes + at, sizeof item);
        at += sizeof item;
        if (item.size > size - at || (at == sizeof item) != (item.type == LEAKS_ITEM_PROCESS))
            return false;
        const char *payload = data->bytes + at;
        bool is_good = false;
        switch (item.type) {
        case LEAKS_ITEM_PROCESS:
            is_good = item.size == sizeof data->process;
            memcpy(&data->process, payload, is_good ? item.size : 0);
            is_good = is_good && data->process.magic == LEAKS_MAGIC;
            data->process.program[sizeof data->process.program - 1] = '\0';
            break;
        case LEAKS_ITEM_MODULE:
            is_good = add_module(data, payload, item.size);
            break;
        case LEAKS_ITEM_TRACE:
            is_good = add_stack(data, payload, item.size);
            break;
        case LEAKS_ITEM_BLOCK:
            is_good = add_block(data, payload, item.size);
            break;
        case LEAKS_ITEM_ERROR:
            is_good = add_error(data, payload, item.size);
            break;
        case LEAKS_ITEM_END:
            if (data->stack_count != 0)
                qsort(data->stacks, data->stack_count, sizeof *data->stacks, by_number);
            return at == size;
        }
        if (!is_good)
            return false;
        at += ((size_t)item.size + 7) & ~(size_t)7;
        if (at > size)
            return false;
    }
    return false;
}

int leaks_data_read(const char *path, struct leaks_data *data)
{
    size_t size = 0;
    memset(data, 0, sizeof *data);
    data->bytes = read_whole(path, &size);
    if (data->bytes == NULL && errno == ENOENT)
        return LEAKS_DATA_GONE;
    if (data->bytes == NULL) {
        sp_complain("%s: cannot be read: %s", path, strerror(errno));
        return -1;
    }
    if (parse(data, size))
        return 0;
    sp_complain("%s: not a whole data file of spwalk leaks", path);
    leaks_data_free(data);
    return -1;
}

void leaks_data_free(struct leaks_data *data)
{
    for (size_t i = 0; i < data->module_count && data->modules != NULL; i++)
        free(data->modules[i].path);
    free(data->modules);
    free(data->stacks);
    free(data->blocks);
    free(data->errors);
    free(data->bytes);
    memset(data, 0, sizeof *data);
}

const struct leaks_stack_item *leaks_data_stack(const struct leaks_data *data, uint32_t number)
{
    struct leaks_stack_item key = {.stack.number = number};
    if (number == 0 || data->stack_count == 0)
        return NULL;
    return bsearch(&key, data->stacks, data->stack_count, sizeof key, by_number);
}
