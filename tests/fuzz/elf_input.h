/* SPDX-License-Identifier: MIT */
/*
 * A fuzzer's input as the ELF file at INPUT_PATH: what calls sp_elf_open is linked with --wrap=sp_elf_open and gets a
 * copy in memory. To write a file for each input takes ten times as long.
 */
#ifndef TESTS_FUZZ_ELF_INPUT_H
#define TESTS_FUZZ_ELF_INPUT_H

#include <stddef.h>
#include <stdint.h>

#define INPUT_PATH "/proc/self/exe" /* is there, so that what looks beside it has a folder */

/* What is to be found there until the next call. */
void set_elf_input(const uint8_t *data, size_t size);

#endif
