/* SPDX-License-Identifier: MIT */
/* Names for file offsets, from the symbol tables of the ELF files they lie in. */
#ifndef STEP_NAMES_H
#define STEP_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Writes "FILE+0xVADDR (SYMBOL+0xOFFSET)" for the byte at a file offset; the symbol is left out where none has it. */
void step_name(const char *path, uint64_t file_offset, char *text, size_t size);

#endif
