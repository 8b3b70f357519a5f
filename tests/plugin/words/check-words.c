/* SPDX-License-Identifier: MIT */
/*
 * check-words FILE...: holds the frame records of linked ELF files against their machine code.
 * check-words --records FILE: prints the records.
 *
 * Follows the stack pointer through the disassembly, from each function's entry along its jumps, and asks of every
 * call:
 *
 *   in a record       the word has been stored, SP is at it, its length is CFA - 8 - SP, its slot is rbp's
 *   in no record      SP is not at a word (else the record is missing)
 *
 * and of every store of a tagged word that it, or what follows it, is in a record. It knows nothing of GCC or of CFI,
 * so that it can't share a mistake with them. Code that no jump leads to (exception handlers, targets of jump tables)
 * is taken to have the stack of its function's body, that after the word's store, or where no jump leads to a store
 * that at the jump through a table; and counted apart.
 *
 * Prints one line of sums for each file. Exit status: 0, or 1 where something is wrong, or 2 where a file can't be
 * read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disassembly.h"
#include "records.h"
#include "stack.h"
#include "word/word.h"

struct reached {
    struct stack before; /* the stack before the instruction */
    bool at_all, assumed, queued;
};

struct check {
    const char *path;
    struct covered_ranges records;
    struct disassembly code;
    struct reached *reached;   /* of each instruction */
    struct stack *bodies;      /* of each function: the stack after its word's store; depth UNKNOWN where it has none */
    struct stack *at_table;    /* and before its jump through a table, or depth UNKNOWN */
    size_t *queue, queue_size; /* instructions whose successors are to be looked at */
    unsigned calls, assumed, other_calls, unknown, errors;
};

static void complain(struct check *check, const struct instruction *instruction, const char *what)
{
    fprintf(stderr, "%s: %s: 0x%" PRIx64 ": %s %s: %s\n", check->path,
            check->code.functions[instruction->function].name, instruction->address, instruction->name,
            instruction->operands, what);
    check->errors++;
}

static void reach(struct check *check, size_t index, const struct stack *stack, bool assumed)
{
    struct reached *reached = &check->reached[index];
    if (!reached->at_all) {
        reached->before = *stack;
        reached->at_all = true;
        reached->assumed = assumed;
    } else if (reached->assumed != assumed || !merge(&reached->before, stack)) {
        return;
    }
    if (!reached->queued) {
        reached->queued = true;
        check->queue[check->queue_size++] = index;
    }
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static bool is_call(const struct instruction *instruction)
{
    return strncmp(instruction->name, "call", 4) == 0;
}

/* The instruction that control falls through to, or SIZE_MAX. Nothing falls into a function: a call that never returns
   is the last instruction of its own. */
static size_t next_of(const struct check *check, size_t index)
{
    const struct instruction *all = check->code.instructions;
    return index + 1 < check->code.instruction_count && all[index + 1].function == all[index].function ? index + 1
                                                                                                       : SIZE_MAX;
}

static void follow(struct check *check, size_t index)
{
    static const char *const ends[] = {"ret", "retq", "hlt", "ud2", "int3", "(bad)", NULL};
    const struct instruction *instruction = &check->code.instructions[index];
    struct reached *reached = &check->reached[index];
    struct stack stack = reached->before;

    if (instruction->name[0] == 'j') {
        bool always = strncmp(instruction->name, "jmp", 3) == 0;
        size_t target = find_instruction(&check->code, strtoull(instruction->operands, NULL, 16));
        if (target != SIZE_MAX && instruction->operands[0] != '*')
            reach(check, target, &stack, reached->assumed);
        else if (always && instruction->operands[0] == '*' && stack.depth != 8)
            check->at_table[instruction->function] = stack; /* one at depth 8 is a tail call */
        if (always)
            return;
        /* The end of a loop of stack probes: rsp has got to the mark. */
        if (stack.mark_seen && stack.mark != UNKNOWN)
            stack.depth = stack.mark;
    } else if (is_one_of(instruction->name, ends)) {
        return;
    } else if (!is_call(instruction)) {
        int64_t word_depth = stack.word_depth;
        apply(&stack, instruction);
        struct stack *body = &check->bodies[instruction->function];
        if (stack.word_depth != UNKNOWN && stack.word_depth != word_depth) {
            *body = stack;
            body->depth = stack.word_depth;
        }
    }
    size_t next = next_of(check, index);
    if (next != SIZE_MAX)
        reach(check, next, &stack, reached->assumed);
}

static void follow_all(struct check *check)
{
    while (check->queue_size > 0) {
        size_t index = check->queue[--check->queue_size];
        check->reached[index].queued = false;
        follow(check, index);
    }
}

/* The stack of a function's body; that of a function's cold part is in the function itself. */
static const struct stack *body_of(const struct check *check, size_t function)
{
    char *cold = strstr(check->code.functions[function].name, ".cold");
    if (cold != NULL) {
        size_t length = (size_t)(cold - check->code.functions[function].name);
        for (size_t i = 0; i < check->code.function_count; i++)
            if (strncmp(check->code.functions[i].name, check->code.functions[function].name, length) == 0 &&
                check->code.functions[i].name[length] == '\0' && check->bodies[i].depth != UNKNOWN)
                return &check->bodies[i];
    }
    return check->bodies[function].depth != UNKNOWN ? &check->bodies[function] : &check->at_table[function];
}

static void follow_file(struct check *check)
{
    const struct disassembly *code = &check->code;
    struct stack entry = stack_at_entry();

    for (size_t i = 0; i < code->function_count; i++) {
        check->bodies[i].depth = check->at_table[i].depth = UNKNOWN;
        if (code->functions[i].count > 0 && strstr(code->functions[i].name, ".cold") == NULL)
            reach(check, code->functions[i].first, &entry, false);
    }
    follow_all(check);
    for (size_t i = 0; i < code->instruction_count; i++) {
        const struct stack *body = body_of(check, code->instructions[i].function);
        if (!check->reached[i].at_all && body->depth != UNKNOWN) {
            reach(check, i, body, true);
            follow_all(check);
        }
    }
}

static void check_covered_call(struct check *check, const struct instruction *call, const struct reached *reached,
                               uint32_t word)
{
    const struct stack *stack = &reached->before;
    if (!reached->at_all || stack->depth == UNKNOWN || stack->word_depth == UNKNOWN) {
        check->unknown++;
        return;
    }
    check->calls++;
    check->assumed += reached->assumed;
    if (stack->word != word)
        complain(check, call, "the word stored is not the record's");
    else if (stack->depth != stack->word_depth)
        complain(check, call, "SP is not at the word");
    else if (stack->depth - 8 != sp_word_length(word))
        complain(check, call, "the word's length is not the frame's");
    else if (sp_word_rbp_slot(word) == 0 && stack->rbp_changed)
        complain(check, call, "the word says that rbp is unchanged, yet it was changed");
    else if (sp_word_rbp_slot(word) != 0 && (int)sp_word_rbp_slot(word) != stack->rbp_slot)
        complain(check, call, "the word's slot is not where rbp was saved");
}

/* A call into the function's own middle is no call: it is how a retpoline pushes the address it jumps to. */
static bool is_push(const struct check *check, size_t index)
{
    const struct instruction *call = &check->code.instructions[index];
    size_t target = find_instruction(&check->code, strtoull(call->operands, NULL, 16));
    return call->operands[0] != '*' && target != SIZE_MAX &&
           check->code.instructions[target].function == call->function &&
           target != check->code.functions[call->function].first;
}

static void check_call(struct check *check, size_t index)
{
    const struct instruction *call = &check->code.instructions[index];
    if (is_push(check, index))
        return;
    const struct reached *reached = &check->reached[index];
    const struct covered_range *range = find_range(&check->records, call->address);

    if (range != NULL) {
        check_covered_call(check, call, reached, range->word);
        return;
    }
    check->other_calls++;
    if (reached->at_all && reached->before.depth != UNKNOWN && reached->before.depth == reached->before.word_depth)
        complain(check, call, "SP is at a word, yet no record says so");
    if (next_of(check, index) != SIZE_MAX && find_range(&check->records, check->code.instructions[index + 1].address))
        complain(check, call, "its return address is in a record, though the call is in none");
}

static void check_store(struct check *check, size_t index)
{
    const struct instruction *instruction = &check->code.instructions[index];
    struct stack before = {.depth = 8, .rbp_depth = UNKNOWN, .mark = UNKNOWN, .word_depth = UNKNOWN}, after = before;

    apply(&after, instruction);
    if (after.word_depth == UNKNOWN || find_range(&check->records, instruction->address) != NULL)
        return;
    /* The instruction that follows a call without a word is left out with it: with -mfentry, a push of the word. */
    size_t next = next_of(check, index);
    if (next == SIZE_MAX || find_range(&check->records, check->code.instructions[next].address) == NULL)
        complain(check, instruction, "stores a word, yet is in no record");
}

static int check_file(const char *path)
{
    struct check check = {.path = path};
    int status = 2;

    if (read_records(path, &check.records) == 0 && disassemble(path, &check.code) == 0) {
        size_t count = check.code.instruction_count;
        check.reached = calloc(count + 1, sizeof *check.reached);
        check.queue = calloc(count + 1, sizeof *check.queue);
        check.bodies = calloc(check.code.function_count + 1, sizeof *check.bodies);
        check.at_table = calloc(check.code.function_count + 1, sizeof *check.at_table);
        follow_file(&check);
        for (size_t i = 0; i < count; i++) {
            if (is_call(&check.code.instructions[i]))
                check_call(&check, i);
            else
                check_store(&check, i);
        }
        printf("%s: %zu notes, %zu records, %u calls checked (%u assumed), %u not, %u other calls, %u errors\n", path,
               check.records.notes, check.records.count, check.calls, check.assumed, check.unknown, check.other_calls,
               check.errors);
        status = check.errors > 0;
    }
    free(check.records.ranges);
    free(check.code.instructions);
    free(check.code.functions);
    free(check.reached);
    free(check.queue);
    free(check.bodies);
    free(check.at_table);
    return status;
}

static int print_records(const char *path)
{
    struct covered_ranges records;
    int status = read_records(path, &records) == 0 ? 0 : 1;

    for (size_t i = 0; i < records.count; i++)
        printf("0x%" PRIx64 "..0x%" PRIx64 " 0x%x\n", records.ranges[i].start, records.ranges[i].end,
               records.ranges[i].word);
    free(records.ranges);
    return status;
}

int main(int argc, char **argv)
{
    int worst = 0;

    if (argc == 3 && strcmp(argv[1], "--records") == 0)
        return print_records(argv[2]);
    if (argc < 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: check-words FILE...  |  check-words --records FILE\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        int status = check_file(argv[i]);
        worst = status > worst ? status : worst;
    }
    return worst;
}
