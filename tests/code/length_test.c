/* SPDX-License-Identifier: MIT */
/*
 * The lengths of all instructions of real files, and the targets of their jumps, against a second opinion: objdump's.
 *
 * Usage: code-lengths [FILE...]; without arguments the files that cfi-differential takes. Prints counts and the first
 * differences; exits with 1 where there are any.
 */
#include "../cfi/elf_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/instruction.h"

#define DIFFERENCES_SHOWN 30

static unsigned long instructions, targets, stops, differences;

static void difference(const char *path, const char *line, const char *what, long here)
{
    if (differences++ < DIFFERENCES_SHOWN)
        fprintf(stderr, "%s: %s (here %#lx) differs: %s", path, what, (unsigned long)here, line);
}

/* Reads "  1f3a:\t48 89 e5 \tmov ..." as objdump prints it. Returns the number of bytes; 0: it is no such line. */
static unsigned read_line(const char *line, uint64_t *address, uint8_t *bytes, const char **text)
{
    char *end;
    *address = strtoull(line, &end, 16);
    if (end == line || end[0] != ':' || end[1] != '\t')
        return 0;
    unsigned count = 0;
    const char *at = end + 2;
    for (; count < 16 && at[0] != '\t' && at[0] != '\0' && at[0] != '\n'; at += 3) {
        bytes[count] = (uint8_t)strtoul(at, &end, 16);
        if (end != at + 2)
            break;
        count++;
    }
    while (*at == ' ')
        at++;
    *text = at + 1;
    return *at == '\t' ? count : 0;
}

/* The target that objdump prints for a direct jump or call; 0: it is none. */
static uint64_t read_target(const char *text)
{
    static const char *const prefixes[] = {"bnd ", "notrack ", "data16 ", "rex.W ", "repz ", "cs ", "ds "};
    for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0];) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(text, prefixes[i], length) == 0) {
            text += length;
            i = 0;
        } else {
            i++;
        }
    }
    if (*text != 'j' && strncmp(text, "call", 4) != 0 && strncmp(text, "loop", 4) != 0)
        return 0;
    text += strcspn(text, " ");
    text += strspn(text, " ");
    return strtoull(text, NULL, 16);
}

static void compare_line(const char *path, const struct elf_tables *file, const char *line)
{
    uint64_t address;
    uint8_t bytes[16];
    const char *text;
    unsigned length = read_line(line, &address, bytes, &text);
    if (length == 0 || strstr(text, "(bad)") || text[0] == '.')
        return;
    struct sp_cfi_row row; /* assembly has tables among its code: they are in no function */
    if (sp_cfi_find_row(&file->tables, address + file->bias, &row) != SP_CFI_OK)
        return;
    instructions++;
    struct sp_instruction instruction;
    uintptr_t at = (uintptr_t)bytes;
    if (bytes[0] == 0x9b && length > 1) { /* objdump takes fwait and what follows for one */
        at++;
        length--;
    }
    if (!sp_instruction_read(at, at + length, &instruction) || instruction.length != length) {
        difference(path, line, "the length", instruction.length);
        return;
    }
    /* A byte less can't be read. */
    struct sp_instruction shorter;
    if (sp_instruction_read(at, at + length - 1, &shorter))
        difference(path, line, "the shortest length", shorter.length);
    stops += instruction.operation == SP_STOP;
    if (instruction.operation == SP_CALL || instruction.operation == SP_JUMP || instruction.operation == SP_BRANCH) {
        uint64_t target = read_target(text);
        uint64_t here = instruction.target == 0 ? 0 : instruction.target - at + address;
        targets += target != 0;
        if (here != target)
            difference(path, line, "the target", (long)here);
    }
}

static void compare_file(const char *path, void *context)
{
    (void)context;
    char command[4200], line[1024];
    struct elf_tables file;
    if (!elf_tables_open(&file, path))
        return;
    snprintf(command, sizeof command, "objdump -d -w '%s'", path);
    FILE *objdump = popen(command, "r");
    if (objdump == NULL) {
        perror("objdump");
        exit(EXIT_FAILURE);
    }
    unsigned long before = instructions;
    while (fgets(line, sizeof line, objdump))
        compare_line(path, &file, line);
    pclose(objdump);
    elf_tables_close(&file);
    printf("%s: %lu instructions\n", path, instructions - before);
}

int main(int argc, char **argv)
{
    each_real_file(argc, argv, compare_file, NULL);
    printf("%lu instructions, %lu targets, %lu not understood further: %lu differences\n", instructions, targets, stops,
           differences);
    return instructions > 0 && targets > 0 && differences == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
