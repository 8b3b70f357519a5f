/* SPDX-License-Identifier: MIT */
/* Prints what of the counting could be seen from inside: environment, auxiliary vector, descriptors, protections. */
#define _GNU_SOURCE
#include "target.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int relro(struct dl_phdr_info *info, size_t size, void *argument)
{
    unsigned long *range = argument;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            range[0] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            range[1] = range[0] + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the program is first */
}

int main(int argc, char **argv, char **environment)
{
    unsigned long range[2] = {0, 0}, start, end;
    char line[4096], mode[8];
    (void)argc, (void)argv;
    target_plain();
    int count = 0;
    char **entry = environment;
    for (; *entry; entry++) {
        count++;
        if (strstr(*entry, "PRELOAD") || strstr(*entry, "SPWALK"))
            printf("%s\n", *entry);
    }
    int page_size = 0;
    for (Elf64_auxv_t *item = (Elf64_auxv_t *)(entry + 1); item->a_type != AT_NULL; item++)
        if (item->a_type == AT_PAGESZ)
            page_size = (int)item->a_un.a_val;
    int next = open("/dev/null", O_RDONLY);
    printf("environment %d\npage size %d\nnext descriptor %d\n", count, page_size, next);
    dl_iterate_phdr(relro, range);
    FILE *maps = fopen("/proc/self/maps", "r");
    int read_only = 0, both = 0;
    while (fgets(line, sizeof line, maps)) {
        sscanf(line, "%lx-%lx %7s", &start, &end, mode);
        both += mode[1] == 'w' && mode[2] == 'x';
        read_only += start <= range[0] && range[0] < end && mode[1] == '-';
    }
    printf("writable and executable %d\nRELRO read-only %d\n", both, read_only);
    return 0;
}
