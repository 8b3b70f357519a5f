/* SPDX-License-Identifier: MIT */
#include "disassembly.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *grown(void *array, size_t count, size_t size)
{
    /* Doubles at each power of two. */
    if ((count & (count - 1)) != 0)
        return array;
    array = realloc(array, (count ? 2 * count : 1) * size);
    if (array == NULL)
        abort();
    return array;
}

static bool is_prefix(const char *word)
{
    static const char *const prefixes[] = {"notrack", "bnd",    "lock", "rep", "repz",
                                           "repnz",   "data16", "cs",   "ds",  "addr32"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strcmp(word, prefixes[i]) == 0)
            return true;
    return false;
}

/* "    11b1:\tcall   1040 <puts@plt>" */
static bool parse_instruction(char *line, struct instruction *instruction)
{
    char *rest;
    instruction->address = strtoull(line, &rest, 16);
    if (rest == line || rest[0] != ':' || rest[1] != '\t')
        return false;
    rest += 2;
    rest[strcspn(rest, "#")] = '\0';
    char *word = strtok(rest, " \t");
    while (word != NULL && is_prefix(word))
        word = strtok(NULL, " \t");
    snprintf(instruction->name, sizeof instruction->name, "%s", word ? word : "");
    /* What follows an address is its symbol, and no part of the operand. */
    char *operands = strtok(NULL, " \t");
    snprintf(instruction->operands, sizeof instruction->operands, "%s", operands ? operands : "");
    return true;
}

static void parse_line(char *line, struct disassembly *code)
{
    char *name = strstr(line, " <"), *end = strstr(line, ">:");
    line[strcspn(line, "\n")] = '\0';
    if (line[0] != ' ' && name != NULL && end != NULL) {
        code->functions = grown(code->functions, code->function_count, sizeof *code->functions);
        struct function *function = &code->functions[code->function_count++];
        snprintf(function->name, sizeof function->name, "%.*s", (int)(end - name - 2), name + 2);
        function->first = code->instruction_count;
        function->count = 0;
        return;
    }
    struct instruction instruction;
    if (code->function_count == 0 || !parse_instruction(line, &instruction))
        return;
    instruction.function = code->function_count - 1;
    code->functions[code->function_count - 1].count++;
    code->instructions = grown(code->instructions, code->instruction_count, sizeof instruction);
    code->instructions[code->instruction_count++] = instruction;
}

static int by_address(const void *a, const void *b)
{
    const struct instruction *first = a, *second = b;
    return first->address < second->address ? -1 : first->address > second->address;
}

int disassemble(const char *path, struct disassembly *code)
{
    const char *arguments[] = {"objdump", "-d", "--no-show-raw-insn", path, NULL};
    int pipes[2], status = -1;
    pid_t child;
    posix_spawn_file_actions_t actions;

    *code = (struct disassembly){0};
    if (pipe(pipes) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipes[0]);
    errno = posix_spawnp(&child, arguments[0], &actions, NULL, (char **)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    if (errno != 0) {
        perror("objdump");
        close(pipes[0]);
        return -1;
    }
    FILE *output = fdopen(pipes[0], "r");
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, output) > 0)
        parse_line(line, code);
    free(line);
    fclose(output);
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "%s: objdump failed\n", path);
        return -1;
    }
    /* Sections need not come in the order of their addresses; functions keep their own, by index. */
    for (size_t i = 1; i < code->instruction_count; i++) {
        if (code->instructions[i].address < code->instructions[i - 1].address) {
            qsort(code->instructions, code->instruction_count, sizeof *code->instructions, by_address);
            for (size_t k = code->instruction_count; k-- > 0;)
                code->functions[code->instructions[k].function].first = k;
            break;
        }
    }
    return 0;
}

size_t find_instruction(const struct disassembly *code, uint64_t address)
{
    size_t low = 0, high = code->instruction_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code->instructions[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < code->instruction_count && code->instructions[low].address == address ? low : SIZE_MAX;
}
