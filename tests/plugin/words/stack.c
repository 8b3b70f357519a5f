/* SPDX-License-Identifier: MIT */
#include "stack.h"

#include <stdlib.h>
#include <string.h>

#include "word/word.h"

struct stack stack_at_entry(void)
{
    return (struct stack){.depth = 8, .rbp_depth = UNKNOWN, .mark = UNKNOWN, .word_depth = UNKNOWN};
}

static bool is_name(const struct instruction *instruction, const char *name)
{
    size_t length = strlen(name);
    const char *rest = instruction->name + length;
    /* objdump adds the size's letter where the operands don't tell it. */
    return strncmp(instruction->name, name, length) == 0 && (*rest == '\0' || (*rest == 'q' && rest[1] == '\0'));
}

/* The last operand: what most instructions write. */
static const char *last_operand(const char *operands)
{
    const char *last = operands;
    int inside = 0;
    for (const char *c = operands; *c; c++) {
        inside += (*c == '(') - (*c == ')');
        if (*c == ',' && inside == 0)
            last = c + 1;
    }
    return last;
}

/* Whether an operand is OFFSET(BASE). */
static bool is_memory(const char *operand, const char *base, int64_t *offset)
{
    char *end;
    *offset = (int64_t)strtoull(operand, &end, 16);
    size_t length = strlen(base);
    return *end == '(' && strncmp(end + 1, base, length) == 0 && end[1 + length] == ')';
}

static bool is_immediate(const char *operand, int64_t *value)
{
    if (operand[0] != '$')
        return false;
    *value = (int64_t)strtoull(operand + 1, NULL, 16);
    return true;
}

static int64_t minus(int64_t depth, int64_t bytes)
{
    return depth == UNKNOWN ? UNKNOWN : depth - bytes;
}

static void store(struct stack *stack, const char *value, int64_t depth)
{
    int64_t immediate;
    if (is_immediate(value, &immediate) && sp_word_is_tagged((uint64_t)immediate)) {
        stack->word = (uint32_t)immediate;
        stack->word_depth = depth;
    }
    if (strncmp(value, "%rbp", 4) == 0 && stack->rbp_slot == 0 && !stack->rbp_changed && depth != UNKNOWN)
        stack->rbp_slot = (int)(depth - 8) / 8;
}

static void lose_rbp(struct stack *stack)
{
    stack->rbp_depth = UNKNOWN;
    stack->rbp_changed = true;
}

static void restore_rbp(struct stack *stack)
{
    stack->rbp_depth = UNKNOWN;
    stack->rbp_slot = 0;
    stack->rbp_changed = false;
}

static void apply_to_rsp(struct stack *stack, const struct instruction *instruction)
{
    const char *operands = instruction->operands;
    int64_t value;

    if (is_name(instruction, "sub") && is_immediate(operands, &value))
        stack->depth = minus(stack->depth, -value);
    else if (is_name(instruction, "add") && is_immediate(operands, &value))
        stack->depth = minus(stack->depth, value);
    else if (is_name(instruction, "lea") && is_memory(operands, "%rsp", &value))
        stack->depth = minus(stack->depth, value);
    else if (is_name(instruction, "lea") && is_memory(operands, "%rbp", &value))
        stack->depth = minus(stack->rbp_depth, value);
    else if (is_name(instruction, "mov") && strcmp(operands, "%rbp,%rsp") == 0)
        stack->depth = stack->rbp_depth;
    else
        stack->depth = UNKNOWN;
}

void apply(struct stack *stack, const struct instruction *instruction)
{
    const char *operands = instruction->operands, *last = last_operand(operands);
    int64_t offset;

    stack->mark_seen = false;
    if (is_name(instruction, "push")) {
        stack->depth = minus(stack->depth, -8);
        store(stack, operands, stack->depth);
    } else if (is_name(instruction, "pop")) {
        bool is_saved_rbp = stack->rbp_slot != 0 && stack->depth == 8 + 8 * (int64_t)stack->rbp_slot;
        stack->depth = minus(stack->depth, 8);
        /* Arguments are also popped, into any register that is free. */
        if (strcmp(operands, "%rbp") == 0 && is_saved_rbp)
            restore_rbp(stack);
        else if (strcmp(operands, "%rbp") == 0)
            lose_rbp(stack);
        else if (strcmp(operands, "%rsp") == 0)
            stack->depth = UNKNOWN;
    } else if (is_name(instruction, "pushf")) {
        stack->depth = minus(stack->depth, -8);
    } else if (is_name(instruction, "popf")) {
        stack->depth = minus(stack->depth, 8);
    } else if (is_name(instruction, "leave")) {
        stack->depth = minus(stack->rbp_depth, 8);
        restore_rbp(stack);
    } else if (is_name(instruction, "cmp")) {
        stack->mark_seen = strstr(operands, "%rsp") != NULL && strchr(operands, '(') == NULL;
    } else if (is_name(instruction, "test") || strncmp(instruction->name, "nop", 3) == 0) {
        return;
    } else if (is_name(instruction, "mov") && strcmp(operands, "%rsp,%rbp") == 0) {
        lose_rbp(stack);
        stack->rbp_depth = stack->depth;
    } else if (strcmp(last, "%rsp") == 0) {
        apply_to_rsp(stack, instruction);
    } else if (is_name(instruction, "lea") && strcmp(last, "%rbp") == 0 && is_memory(operands, "%rsp", &offset)) {
        lose_rbp(stack);
        stack->rbp_depth = minus(stack->depth, offset);
    } else if (strcmp(last, "%rbp") == 0 || strcmp(last, "%ebp") == 0 || strcmp(last, "%bp") == 0 ||
               strcmp(last, "%bpl") == 0 || (is_name(instruction, "xchg") && strstr(operands, "%rbp") != NULL)) {
        lose_rbp(stack);
    } else if (is_name(instruction, "mov") && is_memory(last, "%rsp", &offset)) {
        store(stack, operands, minus(stack->depth, offset));
    } else if (is_name(instruction, "lea") && is_memory(operands, "%rsp", &offset)) {
        stack->mark = minus(stack->depth, offset);
    }
}

static bool merge_depth(int64_t *depth, int64_t path)
{
    if (*depth == path || *depth == UNKNOWN)
        return false;
    *depth = UNKNOWN;
    return true;
}

bool merge(struct stack *stack, const struct stack *path)
{
    bool changed = merge_depth(&stack->depth, path->depth);
    changed |= merge_depth(&stack->rbp_depth, path->rbp_depth);
    changed |= merge_depth(&stack->mark, path->mark);
    changed |= merge_depth(&stack->word_depth, path->word_depth);
    if (path->rbp_changed && !stack->rbp_changed)
        changed = stack->rbp_changed = true;
    if (stack->rbp_slot != path->rbp_slot && stack->rbp_slot != UNKNOWN) {
        stack->rbp_slot = UNKNOWN;
        changed = true;
    }
    return changed;
}
