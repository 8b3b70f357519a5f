/* SPDX-License-Identifier: MIT */
/* decode FILE OFFSET SIZE ADDRESS: reads addresses of instructions in those bytes of the file, in hexadecimal, a line
   each; prints each with the instruction's length, or "?" for one that is not known. */
#include "imports/instruction.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    size_t size = strtoul(argv[3], NULL, 0);
    unsigned long address = strtoul(argv[4], NULL, 0);
    unsigned char *code = malloc(size);
    FILE *file = fopen(argv[1], "rb");
    if (!code || !file || fseek(file, strtol(argv[2], NULL, 0), SEEK_SET) != 0 || fread(code, 1, size, file) != size)
        return 2;
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        unsigned long at = strtoul(line, NULL, 16) - address;
        struct instruction instruction;
        if (at >= size)
            continue;
        if (imports_decode(code + at, size - at, &instruction))
            printf("%lx %ld\n", at + address, (long)(instruction.next - (code + at)));
        else
            printf("%lx ?\n", at + address);
    }
    return 0;
}
