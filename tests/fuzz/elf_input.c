/* SPDX-License-Identifier: MIT */
#include "elf_input.h"

#include "symbols/elf_file.h"

static const uint8_t *bytes;
static size_t bytes_size;

struct sp_elf *__wrap_sp_elf_open(const char *path, char **why);

void set_elf_input(const uint8_t *data, size_t size)
{
    bytes = data;
    bytes_size = size;
}

struct sp_elf *__wrap_sp_elf_open(const char *path, char **why)
{
    return sp_elf_from_memory(bytes, bytes_size, path, why);
}
