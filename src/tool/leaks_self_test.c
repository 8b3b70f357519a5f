/* SPDX-License-Identifier: MIT */
#include "leaks_self_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "leaks_data.h"
#include "leaks_run.h"

#define NOINLINE __attribute__((noinline))

enum {
    STATUS = 7,
    EACH = 3,           /* blocks of one stack, */
    FIRST = 1001,       /* of this size and the next ones */
    HEAD = 2003,        /* a lost structure */
    TAIL = 3001,        /* what it points to */
    KEPT = 4001,        /* still reachable */
    OVERWRITTEN = 5003, /* a write past its end */
    FREED_TWICE = 6007,
};

static const char content[] = "spwalk leaks: leaked on purpose";
static void *volatile sink, *volatile kept;

NOINLINE static void *allocate(size_t size)
{
    char *block = malloc(size);
    if (block != NULL)
        memcpy(block, content, sizeof content);
    return block;
}

NOINLINE static void forget(void *block)
{
    sink = block;
    sink = NULL;
}

/* What earlier calls left on the stack keeps nothing reachable. */
NOINLINE static void clear_stack(void)
{
    char bytes[16384];
    memset(bytes, 0, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

NOINLINE static void misbehave(void)
{
    char *volatile block = allocate(OVERWRITTEN);
    if (block != NULL)
        block[OVERWRITTEN] = 1;
    free(block);
    block = allocate(FREED_TWICE);
    free(block);
    free(block);
}

int leaks_self_test_leak(void)
{
    for (volatile size_t i = 0; i < EACH; i++)
        forget(allocate(FIRST + i));
    char *head = allocate(HEAD);
    if (head != NULL)
        *(void **)(head + 64) = allocate(TAIL);
    forget(head);
    head = NULL;
    kept = allocate(KEPT);
    misbehave();
    clear_stack();
    return STATUS;
}

struct result {
    bool has_report;
    unsigned wrong;
};

static void expect(struct result *result, bool is_good, const char *what)
{
    printf("%s: %s\n", is_good ? "ok" : "WRONG", what);
    result->wrong += !is_good;
}

/* The only block of this size, if it has the class; NULL where there is none, or more. */
static const struct leaks_block_item *find(const struct leaks_data *data, uint64_t size, enum leaks_class class)
{
    const struct leaks_block_item *found = NULL;
    for (size_t i = 0; i < data->block_count; i++) {
        if (data->blocks[i].block.size != size)
            continue;
        if (found != NULL)
            return NULL;
        found = &data->blocks[i];
    }
    return found != NULL && found->block.class == class ? found : NULL;
}

static bool are_of_one_stack(const struct leaks_data *data)
{
    const struct leaks_block_item *first = find(data, FIRST, LEAKS_DEFINITE);
    for (uint64_t i = 1; i < EACH && first != NULL; i++) {
        const struct leaks_block_item *next = find(data, FIRST + i, LEAKS_DEFINITE);
        if (next == NULL || next->block.stack != first->block.stack || next->block.serial != first->block.serial + i)
            return false;
    }
    return first != NULL;
}

/* The stack has at least allocate, the function that calls it, main and the start code, all known modules'. */
static bool is_stack_whole(const struct leaks_data *data)
{
    const struct leaks_block_item *item = find(data, FIRST, LEAKS_DEFINITE);
    const struct leaks_stack_item *stack = item == NULL ? NULL : leaks_data_stack(data, item->block.stack);
    if (stack == NULL || stack->stack.depth < 4 || stack->stack.is_cut)
        return false;
    for (uint32_t i = 0; i < stack->stack.depth; i++) {
        bool is_known = false;
        for (size_t j = 0; j < data->module_count && !is_known; j++)
            is_known = stack->pcs[i] - data->modules[j].module.start <
                       data->modules[j].module.end - data->modules[j].module.start;
        if (!is_known)
            return false;
    }
    return true;
}

static bool has_error(const struct leaks_data *data, uint32_t type, uint64_t size)
{
    for (size_t i = 0; i < data->error_count; i++)
        if (data->errors[i].type == type && data->errors[i].size == size && data->errors[i].here != 0 &&
            data->errors[i].allocated != 0)
            return true;
    return false;
}

static bool take(void *argument, const char *path, bool is_end)
{
    struct result *result = argument;
    struct leaks_data data;
    if (leaks_data_read(path, &data) != 0)
        return is_end;
    const struct leaks_block_item *head = find(&data, HEAD, LEAKS_DEFINITE);
    result->has_report = true;
    expect(result, are_of_one_stack(&data), "three lost blocks of one stack, with serials in a row");
    expect(result, is_stack_whole(&data), "their stack, up to the program's start");
    expect(result, head != NULL && find(&data, TAIL, LEAKS_INDIRECT) != NULL, "a lost block, and what it points to");
    expect(result, find(&data, KEPT, LEAKS_REACHABLE) != NULL, "a block that is still reachable");
    expect(result,
           head != NULL && head->block.dump_size >= sizeof content && memcmp(head->dump, content, sizeof content) == 0,
           "a lost block's content");
    expect(result, has_error(&data, LEAKS_OVERRUN, OVERWRITTEN), "a write past the end of a block");
    expect(result, has_error(&data, LEAKS_DOUBLE_FREE, FREED_TWICE), "a block that is freed twice");
    leaks_data_free(&data);
    return true;
}

int leaks_self_test(const char *library, const char *options)
{
    char *arguments[] = {(char *)"spwalk", (char *)"leaks", (char *)LEAKS_SELF_TEST_OPTION, NULL};
    struct result result = {0};
    int status;
    if (leaks_run("/proc/self/exe", arguments, library, options, take, &result, &status) != 0)
        return SP_EXIT_BAD_INPUT;
    expect(&result, result.has_report, "a report");
    expect(&result, WIFEXITED(status) && WEXITSTATUS(status) == STATUS, "the program's own exit status");
    return result.wrong == 0 ? 0 : SP_EXIT_WRONG;
}
